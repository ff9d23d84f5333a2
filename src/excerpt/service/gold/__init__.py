"""The gold set of a vault: questions with the places that answer them, and how well a search finds them."""
