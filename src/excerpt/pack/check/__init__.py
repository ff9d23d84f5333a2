"""Check of an LLM's answer: its citations and quotations are compared with the pack and the vault."""
