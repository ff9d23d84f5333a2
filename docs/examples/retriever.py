"""A vault as a retriever of LangChain or LlamaIndex, without a dependency on either: give it their class of documents.

    from langchain_core.documents import Document
    from langchain_core.runnables import RunnableLambda

    retriever = RunnableLambda(VaultRetriever("~/notes", Document).invoke)

LlamaIndex asks for `NodeWithScore(node=TextNode(text=..., metadata=...), score=...)`: give a function that makes one
of `page_content` and `metadata`, which has the score.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

import excerpt

Document = TypeVar("Document")
Document_co = TypeVar("Document_co", covariant=True)


class MakesDocument(Protocol[Document_co]):
    def __call__(self, *, page_content: str, metadata: dict[str, Any]) -> Document_co: ...


class VaultRetriever(Generic[Document]):
    """Answers from one vault, to be used from one thread at a time."""

    def __init__(self, folder: str, document: MakesDocument[Document], limit: int = 8) -> None:
        self._vault, self._document, self._limit = excerpt.open(folder), document, limit

    def invoke(self, query: str) -> list[Document]:
        hits = self._vault.search(query, limit=self._limit).hits
        return [self._document(page_content=hit.fragment.text, metadata=hit.to_dict()) for hit in hits]
