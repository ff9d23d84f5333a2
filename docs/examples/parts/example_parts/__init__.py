"""Parts for excerpt: a reader of subtitles, a chunker, an embedder, a reranker and a pack format."""

from pathlib import Path

PACK_FORMAT = Path(__file__).parent / "quotes.j2"
"""The template of the pack format."""
