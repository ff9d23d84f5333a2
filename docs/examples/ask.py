"""Ask an LLM about a vault, and check what it says: `python ask.py ~/notes "how do sync conflicts end?"`.

Any server with OpenAI's API answers, by default Ollama on this machine: set OPENAI_BASE_URL, OPENAI_API_KEY, MODEL.
"""

from __future__ import annotations

import json
import os
import sys
from urllib.request import Request, urlopen

import excerpt

RULES = "Answer from the sources alone. Cite each as [1], and quote the words that say it."


def complete(prompt: str) -> str:
    """Return the answer of the model."""
    url = os.environ.get("OPENAI_BASE_URL", "http://localhost:11434/v1")
    messages = [{"role": "system", "content": RULES}, {"role": "user", "content": prompt}]
    body = json.dumps({"model": os.environ.get("MODEL", "llama3.2"), "messages": messages}).encode()
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}",
    }
    with urlopen(Request(f"{url}/chat/completions", body, headers), timeout=120) as response:
        return str(json.load(response)["choices"][0]["message"]["content"])


def main(folder: str, question: str) -> int:
    with excerpt.open(folder) as vault:
        packed = vault.pack(question, literal=True, budget=1500, question=True)
        if not packed.passages:
            print("Nothing in the vault answers this.")
            return 1
        answer = complete(packed.text)
        check = vault.check(answer, packed.text)
    print(answer)
    for quotation in check.quotations:
        if not quotation.holds:
            print(f"Not in the sources: {quotation.quotation.text}", file=sys.stderr)
    return 0 if check.holds else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
