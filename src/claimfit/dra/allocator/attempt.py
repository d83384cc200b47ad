"""The one exception with which an allocation attempt ends early."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claimfit.dra.inventory import DeviceId

__all__ = ["AttemptAborted"]


class AttemptAborted(Exception):  # noqa: N818  # what happened to the attempt; never leaves `dra`
    """Kubernetes gives up the attempt with an error; caught by `Allocator.decide`.

    Attributes:
        code: a reason code of `claimfit.dra.reasons`.
        text: the sentence of kube-scheduler.
        device: the device at which it happened, or None.
        request: the request that was being served, or empty.
    """

    def __init__(
        self, code: str, text: str, device: DeviceId | None = None, request: str = ""
    ) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.device = device
        self.request = request
