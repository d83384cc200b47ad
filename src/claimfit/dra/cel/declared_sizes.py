"""The sizes that Kubernetes declares for what is read of a device."""

from __future__ import annotations

from typing import Final, NamedTuple

from claimfit.dra.cel.estimate import Range

__all__ = ["declared_size"]

_ENTRIES: Final = 32  # ResourceSliceMaxAttributesAndCapacitiesPerDevice
_DOMAIN: Final = 63  # DeviceMaxDomainLength, DriverNameMaxLength
_NAME: Final = 32  # DeviceMaxIDLength
_VALUE: Final = 64  # DeviceAttributeMaxValueLength


class _Declared(NamedTuple):
    """A declared type: its largest size, and what it is made of."""

    size: int
    key: _Declared | None = None
    item: _Declared | None = None
    fields: tuple[tuple[str, _Declared], ...] = ()


_ATTRIBUTE: Final = _Declared(_VALUE)

_ATTRIBUTES: Final = _Declared(_ENTRIES, _Declared(_NAME), _ATTRIBUTE)

_QUANTITIES: Final = _Declared(_ENTRIES, _Declared(_NAME), _Declared(0))

_DEVICE: Final = _Declared(
    0,
    fields=(
        ("driver", _Declared(_DOMAIN)),
        ("allowMultipleAllocations", _Declared(1)),
        ("attributes", _Declared(_ENTRIES, _Declared(_DOMAIN), _ATTRIBUTES)),
        ("capacity", _Declared(_ENTRIES, _Declared(_DOMAIN), _QUANTITIES)),
    ),
)


def declared_size(path: tuple[str, ...]) -> Range | None:
    """Return the size that is declared for what `path` leads to, None where there is none."""
    if not path or path[0] != "device":
        return None
    current = _DEVICE
    for name in path[1:]:
        following: _Declared | None
        if name in {"@items", "@values"}:
            following = current.item
        elif name == "@keys":
            following = current.key
        else:
            following = dict(current.fields).get(name)
            if following is None and current.item is _ATTRIBUTE:
                following = _ATTRIBUTE
        if following is None:
            return None
        current = following
    return Range(0, current.size)
