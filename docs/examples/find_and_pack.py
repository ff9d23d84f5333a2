"""Find passages in a vault, print them, and pack them for a prompt: `python find_and_pack.py ~/notes "a question"`."""

from __future__ import annotations

import sys

import excerpt


def main(folder: str, question: str) -> int:
    try:
        with excerpt.open(folder) as vault:
            result = vault.search(question, limit=5)
            for hit in result.hits:
                passage: excerpt.Fragment = hit.fragment
                print(f"{passage.path}:{passage.line_start}-{passage.line_end}  {hit.score:.2f}  {hit.confidence}")
            if result.confidence is excerpt.Confidence.NOTHING:
                return 1
            packed = vault.pack(question, budget=1000, scope=excerpt.Scope.SECTION)
            print(packed.text)
            print(f"{packed.tokens:,} tokens, in place of {packed.source_tokens:,}", file=sys.stderr)
    except excerpt.ExcerptError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
