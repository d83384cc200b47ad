"""The user's folders follow the XDG base directory specification."""

from __future__ import annotations

import pytest

from claimfit.storage.user_folders import cache_folder, configuration_folder, user_folder


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"XDG_CACHE_HOME": "/x", "HOME": "/home/u"}, "/x/claimfit"),
        ({"HOME": "/home/u"}, "/home/u/.cache/claimfit"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/home/u"}, "/home/u/.cache/claimfit"),
        ({"XDG_CACHE_HOME": "", "HOME": "/home/u"}, "/home/u/.cache/claimfit"),
    ],
)
def test_the_cache_is_where_the_user_keeps_caches(environment: dict[str, str], folder: str) -> None:
    """The variable first if it is absolute, then the home directory."""
    assert folder == cache_folder(environment)


def test_configuration_and_data() -> None:
    """Configuration has its own variable; other programs' data folders follow the same rule."""
    assert configuration_folder({"XDG_CONFIG_HOME": "/c"}) == "/c/claimfit"
    assert configuration_folder({"HOME": "/home/u"}) == "/home/u/.config/claimfit"
    assert user_folder({"HOME": "/h"}, "XDG_DATA_HOME", ".local/share") == "/h/.local/share"
