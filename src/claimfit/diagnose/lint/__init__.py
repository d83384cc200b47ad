"""Lint: findings about manifests, before an API server or a scheduler sees them.

`linting.lint` is the entry; `docs/lint.md` shows it, `docs/errors/LNT.md` lists the codes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit._exports import lazy

if TYPE_CHECKING:
    from claimfit.diagnose.lint.finding import Finding
    from claimfit.diagnose.lint.fixing import fix_text
    from claimfit.diagnose.lint.linting import Context, lint

__all__ = ["Context", "Finding", "fix_text", "lint"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Context": f"{__name__}.linting",
        "Finding": f"{__name__}.finding",
        "fix_text": f"{__name__}.fixing",
        "lint": f"{__name__}.linting",
    },
)
