"""Checks of an answer against its sources: what it cites and quotes, in its pack and in the vault as it is now."""
