"""claimfit: sizes a model and writes the Kubernetes ResourceClaim that fits it."""

from claimfit._version import __version__

__all__ = ["__version__"]
