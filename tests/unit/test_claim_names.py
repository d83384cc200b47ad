"""Names of claims: readable, valid, and different where models are."""

from __future__ import annotations

from hashlib import sha256

import pytest

from claimfit.claim.names import (
    check_label,
    check_subdomain,
    content_room,
    generated_name,
    with_content_hash,
)
from claimfit.errors import UsageError


def digits(name: str) -> str:
    """Return the six digits that stand for `name`."""
    return sha256(name.encode()).hexdigest()[:6]


@pytest.mark.parametrize("name", ["llama-7b", "a", "0", "a" * 63, "q4-k-m"])
def test_a_name_that_is_a_label_stays(name: str) -> None:
    """Nothing is appended where nothing was changed."""
    assert generated_name(name) == name


def test_lower_casing_alone_is_no_change() -> None:
    """`Llama-7B` and `llama-7b` are spellings of one model."""
    assert generated_name("Llama-7B") == "llama-7b"


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b"),
        ("Llama-3.1-8B", "llama-3-1-8b"),
        ("模型", "model"),
        ("Ünïcode-7B", "n-code-7b"),
        ("-a-", "a"),
        ("a" * 64, "a" * 56),
        ("a" * 55 + "." + "b" * 9, "a" * 55),
        ("..", "model"),
        ("org/..", "model"),
        ("name-abcdef", "name-abcdef"),
    ],
)
def test_a_changed_name_carries_its_digits(name: str, readable: str) -> None:
    """Six digits of the SHA-256 of the whole original are appended, within 63 characters."""
    assert generated_name(name) == f"{readable}-{digits(name)}"


def test_a_name_with_a_content_hash_fits_and_follows_the_content() -> None:
    """The same spec gives the same name, another spec another one."""
    name = generated_name("x/" + "y" * 80, content_room())
    first = with_content_hash(name, "{}")
    assert first == f"{name}-{sha256(b'{}').hexdigest()[:8]}"
    assert len(first) == 63
    assert with_content_hash(name, '{"a":1}') != first
    with pytest.raises(UsageError, match="CLM001"):
        with_content_hash("a" * 60, "{}")


@pytest.mark.parametrize("text", ["", "A", "a.b", "-a", "a-", "a" * 64, "a\n", "a b", "ä", "a: b"])
def test_a_label_is_checked(text: str) -> None:
    """Empty, upper-case, too long and injected names are refused."""
    with pytest.raises(UsageError) as refusal:
        check_label(text, "--name")
    assert refusal.value.code == "CLM001"
    assert refusal.value.place == "--name"


@pytest.mark.parametrize("text", ["", "Bad Class", "a..b", ".a", "a." * 127 + "aa", "a\nb.c"])
def test_a_subdomain_is_checked(text: str) -> None:
    """Labels joined by dots, 253 characters at most."""
    with pytest.raises(UsageError) as refusal:
        check_subdomain(text, "--device-class")
    assert refusal.value.code == "CLM002"


def test_valid_names_pass() -> None:
    """What is valid comes back as it is."""
    assert check_label("a-1", "--name") == "a-1"
    assert check_subdomain("gpu.nvidia.com", "--device-class") == "gpu.nvidia.com"
