"""Field paths as the API server writes them: ``spec.devices.requests[0].name``."""

from __future__ import annotations

__all__ = ["Path", "text_of"]

Path = tuple[str | int, ...]
"""Keys and indexes from the object down."""

_MAPS = frozenset(
    {"attributes", "capacity", "counters", "annotations", "labels", "limits", "requests"}
)
"""Fields whose keys are names of the user, written in brackets."""


def text_of(path: Path) -> str:
    """Return `path` as text; keys of maps stand in brackets, as indexes do."""
    text = ""
    before: str | int = ""
    for step in path:
        struct = before == "capacity" and step == "requests"  # of a request, not of a device
        if isinstance(step, int) or (before in _MAPS and not struct) or "." in step or "/" in step:
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
        before = step
    return text
