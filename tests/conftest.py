"""Settings of the whole suite."""

from __future__ import annotations

from hypothesis import settings

# No deadline: a test says what is right, never how fast a busy machine must be.
settings.register_profile("suite", deadline=None, print_blob=True)
settings.load_profile("suite")
