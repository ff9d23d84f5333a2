"""Fixtures of other folders: settings that make a build of a small vault take milliseconds."""

from tests.index.conftest import models, settings

__all__ = ["models", "settings"]
