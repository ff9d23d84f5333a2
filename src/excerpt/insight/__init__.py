"""What a vault holds about a topic, and what belongs together in it."""
