"""For all tests: a property is about what holds, not how fast; a busy machine must not fail it."""

from hypothesis import settings

settings.register_profile("excerpt", deadline=None)
settings.load_profile("excerpt")
