"""How messages of Go print values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.dra.cel.values import Duration, MapValue, Optional, Timestamp, TypeValue, _Missing

if TYPE_CHECKING:
    from claimfit.dra.cel.values import Value

__all__ = ["text"]


def text(value: Value) -> str:
    """Return `value` as Go's ``%v`` prints it in messages."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        from claimfit.dra.cel.go_text import double_text

        return double_text(value)
    if isinstance(value, int):
        return str(int(value))
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return f"[{' '.join(map(str, value))}]"
    if isinstance(value, list):
        return f"[{', '.join(map(text, value))}]"
    if isinstance(value, MapValue):
        return f"{{{', '.join(f'{text(key)}: {text(item)}' for key, item in value.items())}}}"
    return _other_text(value)


def _other_text(value: Value) -> str:
    from claimfit.dra.cel.go_text import duration_text, timestamp_text

    if isinstance(value, Duration):
        return duration_text(value.nanos)
    if isinstance(value, Timestamp):
        return timestamp_text(value)
    if isinstance(value, Optional):
        if isinstance(value.value, _Missing):
            return "optional.none()"
        return f"optional({text(value.value)})"
    if isinstance(value, TypeValue):
        return value.name
    return str(value)
