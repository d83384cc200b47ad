"""Says what is wrong: with a manifest before it is applied (lint)."""
