"""Names of claims: DNS labels that say which model they are for, and differ where models do.

A name is made from the model's: lower-cased, and whatever a DNS label cannot hold replaced by
hyphens or cut. Whenever something was replaced or cut, six hexadecimal digits of the SHA-256 of the
whole original name are appended, because ``org/Model-1.5`` and ``org/Model-1-5`` would otherwise
meet. A name that already ends like that gets its own digits too, so that nobody can choose a model
name that equals the claim name of another.
"""

from __future__ import annotations

import re
from typing import Final

from claimfit.errors import UsageError

__all__ = ["check_label", "check_subdomain", "generated_name", "with_content_hash"]

LONGEST_LABEL: Final = 63
"""RFC 1123; the API server checks it for labels, and pods take the claim's name into theirs."""
LONGEST_SUBDOMAIN: Final = 253
_HASH_DIGITS: Final = 6
_CONTENT_DIGITS: Final = 8
_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_FOREIGN: Final = r"[^a-z0-9]+"
_HASHED: Final = r"[a-z0-9-]*-[0-9a-f]{6}"
_FALLBACK: Final = "model"


def generated_name(model: str, room: int = LONGEST_LABEL) -> str:
    """Return the claim's name for the model called `model`, at most `room` characters long.

    The part after the last slash is kept, since a namespace rarely holds two publishers of one
    model; the digits tell them apart where it does.
    """
    whole = model.lower()
    if len(whole) <= room and re.fullmatch(_LABEL, whole) and not re.fullmatch(_HASHED, whole):
        return whole
    digits = _sha256(model)[:_HASH_DIGITS]
    readable = re.sub(_FOREIGN, "-", whole.rpartition("/")[2]).strip("-")
    readable = readable[: room - _HASH_DIGITS - 1].rstrip("-") or _FALLBACK
    return f"{readable}-{digits}"


def with_content_hash(name: str, content: str) -> str:
    """Return `name` with eight digits of the SHA-256 of `content`, the spec as JSON.

    Raises `UsageError` CLM001 when the result is no DNS label any more.
    """
    return check_label(f"{name}-{_sha256(content)[:_CONTENT_DIGITS]}", "--name with --name-hash")


def content_room() -> int:
    """Return how many characters of a label are left when a content hash will follow."""
    return LONGEST_LABEL - _CONTENT_DIGITS - 1


def check_label(text: str, place: str) -> str:
    """Return `text`, a DNS label; raises `UsageError` CLM001 otherwise."""
    if len(text) > LONGEST_LABEL or not re.fullmatch(_LABEL, text):
        raise UsageError(
            "CLM001",
            "not a DNS label",
            place=place,
            found=text,
            expected=(
                f"1 to {LONGEST_LABEL} lower-case letters, digits and hyphens, "
                "no hyphen first or last"
            ),
        )
    return text


def check_subdomain(text: str, place: str) -> str:
    """Return `text`, a DNS subdomain; raises `UsageError` CLM002 otherwise."""
    labels = text.split(".")
    fine = len(text) <= LONGEST_SUBDOMAIN and all(re.fullmatch(_LABEL, label) for label in labels)
    if not fine:
        raise UsageError(
            "CLM002",
            "not a DNS subdomain",
            place=place,
            found=text,
            expected=f"DNS labels joined by dots, at most {LONGEST_SUBDOMAIN} characters",
        )
    return text


def _sha256(text: str) -> str:
    # The module below hashlib, as the standard library's own random does it: hashlib loads OpenSSL,
    # which takes 4 ms of a start that may take 90.
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]  # Python 3.11
    except ImportError:
        from hashlib import sha256
    return str(sha256(text.encode("utf-8", "surrogatepass")).hexdigest())
