"""excerpt finds the few passages in a Markdown vault that answer a question and packs them for an LLM prompt."""

__version__ = "0.1.0"
