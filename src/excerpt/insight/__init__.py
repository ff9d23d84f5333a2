"""Analyses of a vault: overviews of topics, related notes, maps of matches, and query suggestions."""
