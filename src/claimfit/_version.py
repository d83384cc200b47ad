"""The version, a literal: reading package metadata would cost more than the claim path itself."""

__version__ = "0.1.0"
