"""IP addresses and address ranges, as Go's net/netip reads and classifies them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from claimfit.dra.cel.go_text import quoted
from claimfit.dra.cel.values import EvalError, FailureError, Opaque, no_such_overload

if TYPE_CHECKING:
    from claimfit.dra.cel.values import Value


__all__ = ["CIDR", "IP"]

_HEXADECIMAL: Final = frozenset("0123456789abcdefABCDEF")


class _ParseError(FailureError):
    """An address that cannot be read; the message is netip's."""


class IP(Opaque):
    """An address: its number and its length in bits."""

    __slots__ = ("bits", "number")

    type_name: ClassVar[str] = "net.IP"
    go_type: ClassVar[str] = "cel.IP"

    def __init__(self, number: int, bits: int) -> None:
        self.number = number
        self.bits = bits

    @classmethod
    def parse(cls, text: str) -> IP:
        """Return the address that `text` writes; raises `EvalError` in Kubernetes' words.

        Zones and IPv4-mapped IPv6 addresses are refused.
        """
        try:
            number, bits, zone = _address(text)
        except _ParseError as problem:
            raise EvalError(
                "IP Address %s parse error during conversion from string: %s", quoted(text), problem
            ) from None
        if zone:
            raise EvalError("IP address %s with zone value is not allowed", quoted(text))
        if bits == 128 and number >> 32 == 0xFFFF:
            raise EvalError("IPv4-mapped IPv6 address %s is not allowed", quoted(text))
        return cls(number, bits)

    def equals(self, other: Value) -> bool:
        """Whether it is the same address."""
        if not isinstance(other, IP):
            raise no_such_overload()
        return self.number == other.number and self.bits == other.bits

    def byte_size(self) -> int:
        """Return 4 or 16."""
        return self.bits // 8

    @property
    def family(self) -> int:
        """4 or 6."""
        return 4 if self.bits == 32 else 6

    def within(self, prefix: int, bits: int) -> bool:
        """Whether the first `bits` bits are those of `prefix`."""
        return self.number >> (self.bits - bits) == prefix

    @property
    def is_unspecified(self) -> bool:
        """Whether it is 0.0.0.0 or ::."""
        return self.number == 0

    @property
    def is_loopback(self) -> bool:
        """Whether it is in 127.0.0.0/8, or ::1."""
        return self.within(127, 8) if self.bits == 32 else self.number == 1

    @property
    def is_link_local_multicast(self) -> bool:
        """Whether it is in 224.0.0.0/24, or ff02 of any flags."""
        if self.bits == 32:
            return self.within(0xE00000, 24)
        return (self.number >> 112) & 0xFF0F == 0xFF02

    @property
    def is_link_local_unicast(self) -> bool:
        """Whether it is in 169.254.0.0/16 or fe80::/10."""
        return self.within(0xA9FE, 16) if self.bits == 32 else self.within(0xFE80 >> 6, 10)

    @property
    def is_global_unicast(self) -> bool:
        """Whether it is none of the special ones; private addresses count as global."""
        if self.bits == 32 and self.number in {0, 0xFFFFFFFF}:
            return False
        multicast = self.within(0xE, 4) if self.bits == 32 else self.within(0xFF, 8)
        special = multicast or self.is_loopback or self.is_link_local_unicast
        return self.number != 0 and not special

    def __str__(self) -> str:
        if self.bits == 32:
            return ".".join(str(self.number >> shift & 255) for shift in (24, 16, 8, 0))
        return _compressed([self.number >> shift & 0xFFFF for shift in range(112, -1, -16)])


class CIDR(Opaque):
    """An address with the length of its network part."""

    __slots__ = ("ip", "length")

    type_name: ClassVar[str] = "net.CIDR"
    go_type: ClassVar[str] = "cel.CIDR"

    def __init__(self, ip: IP, length: int) -> None:
        self.ip = ip
        self.length = length

    @classmethod
    def parse(cls, text: str) -> CIDR:
        """Return the range that `text` writes; raises `EvalError` in Kubernetes' words."""
        said = "network address parse error during conversion from string: "
        try:
            return cls._parsed(text)
        except _ParseError as problem:
            message = f"netip.ParsePrefix({quoted(text)}): {problem}"
            raise EvalError(said + said + message) from None
        except EvalError as refused:
            raise EvalError(said + refused.message) from None

    @classmethod
    def _parsed(cls, text: str) -> CIDR:
        address, slash, bits = text.rpartition("/")
        if not slash:
            raise _ParseError("no '/'")
        number, width, zone = _address(address)
        if zone:
            raise _ParseError("IPv6 zones cannot be present in a prefix")
        signed = bits[1:] if bits[:1] in {"+", "-"} else bits
        digits = signed.isascii() and signed.isdigit()
        if not digits or (len(bits) > 1 and not "1" <= bits[0] <= "9") or len(bits) > 18:
            raise _ParseError("bad bits after slash: %s", quoted(bits))
        if not 0 <= int(bits) <= width:
            raise _ParseError("prefix length out of range")
        if width == 128 and number >> 32 == 0xFFFF:
            raise EvalError("IPv4-mapped IPv6 address %s is not allowed", quoted(text))
        return cls(IP(number, width), int(bits))

    def equals(self, other: Value) -> bool:
        """Whether address and length are the same."""
        if not isinstance(other, CIDR):
            raise no_such_overload()
        return self.ip.equals(other.ip) and self.length == other.length

    def byte_size(self) -> int:
        """Return the bytes that the network part takes, rounded up."""
        return -(-self.length // 8)

    def contains(self, ip: IP) -> bool:
        """Whether `ip` is in the range."""
        shift = self.ip.bits - self.length
        return self.ip.bits == ip.bits and self.ip.number >> shift == ip.number >> shift

    def covers(self, other: CIDR) -> bool:
        """Whether all of `other` is in the range."""
        return self.length <= other.length and self.contains(other.ip)

    def masked(self) -> CIDR:
        """Return the range with the bits after the network part zero."""
        shift = self.ip.bits - self.length
        return CIDR(IP(self.ip.number >> shift << shift, self.ip.bits), self.length)

    def __str__(self) -> str:
        return f"{self.ip}/{self.length}"


def _address(text: str) -> tuple[int, int, str]:
    """Return (number, bits, zone)."""
    for char in text:
        if char == ".":
            return _ipv4(text, text), 32, ""
        if char == ":":
            return _ipv6(text)
        if char == "%":
            raise _refused(text, "missing IPv6 address")
    raise _refused(text, "unable to parse IP")


def _refused(text: str, message: str, at: str = "") -> _ParseError:
    place = f" (at {quoted(at)})" if at else ""
    return _ParseError(f"ParseAddr({quoted(text)}): {message}{place}")


def _ipv4(text: str, part: str) -> int:
    number = value = fields = digits = 0
    for place, char in enumerate(part):
        if "0" <= char <= "9":
            if digits == 1 and value == 0:
                raise _refused(text, "IPv4 field has octet with leading zero")
            value = value * 10 + int(char)
            digits += 1
            if value > 255:
                raise _refused(text, "IPv4 field has value >255")
        elif char == ".":
            if place in {0, len(part) - 1} or part[place - 1] == ".":
                raise _refused(text, "IPv4 field must have at least one digit", part[place:])
            if fields == 3:
                raise _refused(text, "IPv4 address too long")
            number = number << 8 | value
            fields += 1
            value = digits = 0
        else:
            raise _refused(text, "unexpected character", part[place:])
    if fields < 3:
        raise _refused(text, "IPv4 address too short")
    return number << 8 | value


def _ipv6(text: str) -> tuple[int, int, str]:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _refused(text, "zone must be a non-empty string")
    groups: list[int] = []
    ellipsis = -1
    if rest.startswith("::"):
        ellipsis = 0
        rest = rest[2:]
        if not rest:
            return 0, 128, zone
    while len(groups) < 8:
        length = _group_length(text, rest)
        if rest[length : length + 1] == ".":
            groups += _embedded(text, rest, len(groups), ellipsis)
            rest = ""
            break
        groups.append(int(rest[:length], 16))
        rest = rest[length:]
        if not rest:
            break
        if rest[0] != ":":
            raise _refused(text, "unexpected character, want colon", rest)
        if len(rest) == 1:
            raise _refused(text, "colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if ellipsis >= 0:
                raise _refused(text, "multiple :: in address", rest)
            ellipsis = len(groups)
            rest = rest[1:]
            if not rest:
                break
    return _joined(text, groups, ellipsis, rest), 128, zone


def _group_length(text: str, rest: str) -> int:
    length = 0
    while length < len(rest) and rest[length] in _HEXADECIMAL:
        if length > 3:
            raise _refused(text, "each group must have 4 or less digits", rest)
        length += 1
    if not length:
        message = "each colon-separated field must have at least one digit"
        raise _refused(text, message, rest)
    return length


def _embedded(text: str, rest: str, count: int, ellipsis: int) -> list[int]:
    if ellipsis < 0 and count != 6:
        message = "embedded IPv4 address must replace the final 2 fields of the address"
        raise _refused(text, message, rest)
    if count > 6:
        message = "too many hex fields to fit an embedded IPv4 at the end of the address"
        raise _refused(text, message, rest)
    number = _ipv4(text, rest)
    return [number >> 16, number & 0xFFFF]


def _joined(text: str, groups: list[int], ellipsis: int, rest: str) -> int:
    if rest:
        raise _refused(text, "trailing garbage after address", rest)
    if len(groups) < 8:
        if ellipsis < 0:
            raise _refused(text, "address string too short")
        groups[ellipsis:ellipsis] = [0] * (8 - len(groups))
    elif ellipsis >= 0:
        raise _refused(text, "the :: must expand to at least one field of zeros")
    number = 0
    for group in groups:
        number = number << 16 | group
    return number


def _compressed(groups: list[int]) -> str:
    """Return an IPv6 address with its first longest run of two or more zeros as ``::``."""
    start = length = at = 0
    while at < 8:
        end = at
        while end < 8 and groups[end] == 0:
            end += 1
        if end - at > max(length, 1):
            start, length = at, end - at
        at = max(end, at + 1)
    if not length:
        return ":".join(f"{group:x}" for group in groups)
    before = ":".join(f"{group:x}" for group in groups[:start])
    after = ":".join(f"{group:x}" for group in groups[start + length :])
    return f"{before}::{after}"
