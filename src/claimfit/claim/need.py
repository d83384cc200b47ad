"""What a claim is asked for: model, engine, workload, target and the shape of the object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.claim.names import check_label, check_subdomain
from claimfit.errors import UsageError
from claimfit.records import NamedTuple
from claimfit.sizing.engines import profiles

if TYPE_CHECKING:
    from claimfit.hardware.facts import Accelerator, DeviceClassDescription, DriverDescription
    from claimfit.model.facts import ModelFacts
    from claimfit.sizing.calibration import Calibration
    from claimfit.sizing.plan import EngineChoice, Workload

__all__ = ["DEFAULT_MIN_TPS", "MOST_DEVICES", "ClaimNeed", "check_need"]

DEFAULT_MIN_TPS: Final = 20.0
"""Tokens per second of one stream: about four times the speed at which people read."""
MOST_DEVICES: Final = 32
"""Devices of one claim (AllocationResultsMaxSize of resource.k8s.io/v1)."""


class ClaimNeed(NamedTuple):
    """The question that `plan_claim` answers. 0 and "" leave a choice to the plan."""

    model: ModelFacts
    engine: EngineChoice
    workload: Workload
    driver: DriverDescription
    device_class: DeviceClassDescription
    min_tps: float = DEFAULT_MIN_TPS
    """Tokens per second of each stream at the given concurrency (p10); 0 asks for no speed."""
    tensor: int = 0
    pipeline: int = 0
    devices: int = 0
    """Devices of one replica, tensor x pipeline (`--count`)."""
    alternatives: bool = False
    """Offer several counts of devices (firstAvailable), each sized for its own."""
    same: tuple[str, ...] = ()
    """pcieRoot, numaNode, product: what all devices must have in common."""
    share: bool = False
    """Ask for a part of a device that allows multiple allocations."""
    admit_unlisted: bool = False
    """Accept products that the accelerator table does not know, at any speed."""
    own_accelerators: tuple[Accelerator, ...] = ()
    """Devices that the user's driver file adds to the table."""
    calibration: Calibration | None = None
    template: bool = False
    name: str = ""
    hash_name: bool = False
    """Append a hash of the spec to the name: specs are immutable."""
    namespace: str = ""
    assumed: tuple[str, ...] = ()
    """Flags that the user did not give and whose defaults the plan stands on."""

    @property
    def quantization(self) -> str:
        """Canonical name or spelling of the weights that are served."""
        return self.workload.quantization or self.model.quantization

    @property
    def names_products(self) -> bool:
        """Whether the selector lists products: for speed without bandwidth, or without memory."""
        speed_by_product = bool(self.min_tps) and not self.driver.bandwidth_attribute
        return speed_by_product or not self.driver.memory_capacity


def check_need(need: ClaimNeed) -> ClaimNeed:
    """Return `need` with the engine's canonical name, its parts being possible together.

    Raises `UsageError`: CLM001 name, CLM002 device class, CLM005 contradicting counts, CLM007 speed
    asked of a model that generates nothing, CLM008 too many devices, CLM014 sharing of several.
    `SizingError` SIZ010, unknown engine.
    """
    if need.name:
        check_label(need.name, "--name")
    if need.namespace:
        check_label(need.namespace, "--namespace")
    check_subdomain(need.device_class.name, "--device-class")
    if need.min_tps and need.model.task != "generate":
        raise UsageError(
            "CLM007",
            f"{need.model.name} generates no tokens: it is a model to {need.model.task} with",
            place="--min-tps",
            found=f"{need.min_tps:g}",
            fix="leave out --min-tps; memory is asked for as it is",
        )
    _check_counts(need)
    engine = need.engine._replace(name=profiles(need.engine.name)[0].name)
    return need._replace(engine=engine)


def _check_counts(need: ClaimNeed) -> None:
    given = need.tensor or need.pipeline
    devices = (need.tensor or 1) * (need.pipeline or 1)
    if need.devices and need.tensor and need.devices != devices:
        raise UsageError(
            "CLM005",
            "--count is the number of devices, tensor times pipeline stages",
            place="--count",
            found=need.devices,
            expected=f"{devices} for --tp {need.tensor} --pp {need.pipeline or 1}",
        )
    if need.devices and need.pipeline and need.devices % need.pipeline:
        raise UsageError(
            "CLM005",
            "--count is not a multiple of the pipeline stages",
            place="--count",
            found=need.devices,
            expected=f"a multiple of --pp {need.pipeline}",
        )
    if need.alternatives and (need.devices or given):
        raise UsageError(
            "CLM005",
            "--alternatives chooses the numbers of devices itself",
            place="--alternatives",
            fix="leave out --count, --tp and --pp, or --alternatives",
        )
    most = max(need.devices, devices)
    if most > MOST_DEVICES:
        raise UsageError(
            "CLM008",
            "more devices than one claim can be given",
            place="--count" if need.devices else "--tp",
            found=most,
            expected=f"at most {MOST_DEVICES}",
        )
    if need.share and (most > 1 or need.alternatives):
        raise UsageError(
            "CLM014",
            "a share is a part of one device: several shares may end up on the same one",
            place="--share",
            fix="leave out --share, or --count, --tp, --pp and --alternatives",
        )
