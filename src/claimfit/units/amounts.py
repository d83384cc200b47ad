"""Byte amounts that cannot be mistaken for GB or GiB numbers.

GiB and GB differ by 7.4 % and the tools of the field mix them; here an amount is always a whole
number of bytes and a unit appears only where it is read or printed.
"""

from __future__ import annotations

from typing import Final

__all__ = ["GIB", "MIB", "Bytes"]

MIB: Final = 1 << 20
GIB: Final = 1 << 30
_GB: Final = 10**9


class Bytes(int):
    """A whole number of bytes."""

    __slots__ = ()

    @classmethod
    def of_gib(cls, gib: float) -> Bytes:
        """Return `gib` GiB (2**30), rounded up to a whole byte."""
        return cls(_ceiling(gib, GIB))

    @classmethod
    def of_mib(cls, mib: float) -> Bytes:
        """Return `mib` MiB (2**20), rounded up to a whole byte."""
        return cls(_ceiling(mib, MIB))

    @classmethod
    def of_gb(cls, gigabytes: float) -> Bytes:
        """Return `gigabytes` GB (10**9), rounded up to a whole byte."""
        return cls(_ceiling(gigabytes, _GB))

    @property
    def gib(self) -> float:
        """The amount in GiB."""
        return int(self) / GIB

    @property
    def gb(self) -> float:
        """The amount in GB (10**9 bytes)."""
        return int(self) / _GB

    @property
    def mib_up(self) -> int:
        """The amount in whole MiB, rounded up, as a claim asks for it."""
        return -(-int(self) // MIB)

    def __add__(self, other: int) -> Bytes:
        return Bytes(int(self) + int(other))

    __radd__ = __add__

    def __sub__(self, other: int) -> Bytes:
        return Bytes(int(self) - int(other))

    def __str__(self) -> str:
        return f"{self.gib:.1f} GiB"


def _ceiling(amount: float, unit: int) -> int:
    """Return `amount` x `unit`, rounded up, exactly: a float is a ratio of two integers."""
    numerator, denominator = amount.as_integer_ratio()
    return -(-numerator * unit // denominator)
