"""Claims from a ModelFit's memory fields.

A ModelFit says how much system memory and how much device memory a model needs, each as a minimum
and optionally as an estimate, which wins over the minimum also when it is smaller. In the dialect
``fit-v1alpha2`` the two become the keys ``memory`` and ``gpu.memory`` of a manifest that no
Kubernetes has ever served; the valid form asks the target driver's devices for the device memory
and leaves the system memory to the pod, since it is no device.

Gigabytes are read as GiB, which is what the suffix of the specification says.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from math import isfinite
from typing import TYPE_CHECKING, Final

from claimfit.claim.conditions import with_health, with_kinds
from claimfit.claim.device_test import DeviceTest
from claimfit.claim.names import LONGEST_LABEL, check_label, generated_name
from claimfit.claim.request import API_VERSION, REQUEST_NAME
from claimfit.claim.selector import expression
from claimfit.errors import InexpressibleError, InputError
from claimfit.manifests.emitter import Quoted
from claimfit.records import NamedTuple

if TYPE_CHECKING:
    from claimfit.hardware.drivers import Target
    from claimfit.manifests.emitter import Value

__all__ = ["ModelFit", "claim_from_fit", "read_model_fit", "resource_claim_from_fit"]

V1ALPHA2: Final = "resource.k8s.io/v1alpha2"
_CLASS: Final = "gpu-memory-class"
_SUFFIX: Final = "-claim"
_LARGEST_GIB: Final = Decimal(2**33)
"""8 EiB: the largest amount of bytes that an int64 and so a device can state."""
_RAM: Final = ("min_ram_gb", "ram_gb")
_VRAM: Final = ("min_vram_gb", "vram_gb")


class ModelFit(NamedTuple):
    """Memory that a model needs, GiB. None is absent."""

    name: str
    min_ram_gb: float | Decimal | None = None
    min_vram_gb: float | Decimal | None = None
    estimated_memory_gb: float | Decimal | None = None
    """System memory; wins over `min_ram_gb`."""
    estimated_vram_gb: float | Decimal | None = None
    """Device memory; wins over `min_vram_gb`."""

    @property
    def memory_gib(self) -> Decimal:
        """System memory to ask for; raises `InputError` FRM002 or FRM003."""
        return _chosen(self, "estimated_memory_gb", "min_ram_gb")

    @property
    def device_memory_gib(self) -> Decimal:
        """Device memory to ask for; raises `InputError` FRM002 or FRM003."""
        return _chosen(self, "estimated_vram_gb", "min_vram_gb")


def read_model_fit(fields: Mapping[str, object], place: str = "") -> ModelFit:
    """Return the ModelFit in `fields`; fields beyond those of a ModelFit are not looked at.

    The model's name is `name`, or `model`, which may be an object with a `name`. Minimums are
    spelled `min_ram_gb` or `ram_gb`, `min_vram_gb` or `vram_gb`.

    Raises `InputError`: FRM001 no name, FRM003 a value that is no amount, FRM004 two spellings
    that disagree.
    """
    return ModelFit(
        _name(fields, place),
        _spelled(fields, _RAM, place),
        _spelled(fields, _VRAM, place),
        _number(fields, "estimated_memory_gb", place),
        _number(fields, "estimated_vram_gb", place),
    )


def resource_claim_from_fit(fit: ModelFit | Mapping[str, object]) -> dict[str, Value]:
    """Return the manifest of dialect fit-v1alpha2, to the letter of its specification.

    No API server accepts it: use `claim_from_fit` for one that can be applied. Raises `InputError`
    FRM001 to FRM004.
    """
    fit = fit if isinstance(fit, ModelFit) else read_model_fit(fit)
    return {
        "apiVersion": V1ALPHA2,
        "kind": "ResourceClaim",
        "metadata": {"name": _claim_name(fit.name)},
        "spec": {
            "resourceClassName": _CLASS,
            "resources": {
                "memory": Quoted(f"{_shortest(fit.memory_gib)}Gi"),
                "gpu.memory": Quoted(f"{_shortest(fit.device_memory_gib)}Gi"),
            },
        },
    }


def claim_from_fit(
    fit: ModelFit, target: Target, *, name: str = "", namespace: str = "", template: bool = False
) -> dict[str, Value]:
    """Return the resource.k8s.io/v1 claim for the device memory of `fit` on `target`.

    Raises `InputError` FRM001 to FRM003, `InexpressibleError` CLM010 when the driver publishes no
    memory to select by.
    """
    driver = target.driver
    if not driver.memory_capacity:
        raise InexpressibleError(
            "CLM010",
            f"{driver.name} publishes no memory, so a device cannot be asked for an amount of it",
            place="--target",
            found=driver.name,
            fix="claim MODEL by name: its products are then chosen from the accelerator table",
        )
    test = DeviceTest(
        driver.name,
        memory_capacity=driver.memory_capacity,
        memory_mib=mib_up(fit.device_memory_gib),
    )
    test = with_health(driver, with_kinds(driver, target.device_class, test))
    request: dict[str, Value] = {
        "name": REQUEST_NAME,
        "exactly": {
            "deviceClassName": target.device_class.name,
            "selectors": [{"cel": {"expression": expression(test)}}],
        },
    }
    metadata: dict[str, Value] = {"name": name or _claim_name(fit.name)}
    if namespace:
        metadata["namespace"] = namespace
    spec: dict[str, Value] = {"devices": {"requests": [request]}}
    return {
        "apiVersion": API_VERSION,
        "kind": "ResourceClaimTemplate" if template else "ResourceClaim",
        "metadata": metadata,
        "spec": {"spec": spec} if template else spec,
    }


def mib_up(gib: Decimal) -> int:
    """Return `gib` in MiB, rounded up."""
    return int((gib * 1024).to_integral_value(ROUND_CEILING))


def _claim_name(model: str) -> str:
    return check_label(generated_name(model, LONGEST_LABEL - len(_SUFFIX)) + _SUFFIX, "name")


def _name(fields: Mapping[str, object], place: str) -> str:
    model = fields.get("model")
    given = [fields.get("name"), model.get("name") if isinstance(model, Mapping) else model]
    names = [item for item in given if item is not None]
    if not names or not all(isinstance(item, str) and item.strip() for item in names):
        raise InputError(
            "FRM001",
            "the fit names no model",
            place=_at(place, "name"),
            found=names[0] if names else None,
            expected="name: a text",
        )
    if len(set(names)) > 1:
        raise _conflict(place, "name", "model", names)
    return str(names[0])


def _spelled(
    fields: Mapping[str, object], spellings: tuple[str, str], place: str
) -> Decimal | None:
    """Return the value under either of two spellings; both must agree where both are given."""
    first, second = (_number(fields, spelling, place) for spelling in spellings)
    if first is not None and second is not None and first != second:
        raise _conflict(place, *spellings, [first, second])
    return second if first is None else first


def _conflict(place: str, one: str, other: str, found: list[object]) -> InputError:
    return InputError(
        "FRM004",
        f"{one} and {other} are two spellings of one value and disagree",
        place=_at(place, one),
        found=" and ".join(str(item) for item in found),
        expected="one of them, or the same value in both",
    )


def _number(fields: Mapping[str, object], name: str, place: str) -> Decimal | None:
    value = fields.get(name)
    return None if value is None else _amount(value, _at(place, name))


def _chosen(fit: ModelFit, estimate: str, minimum: str) -> Decimal:
    for field in (estimate, minimum):
        value = getattr(fit, field)
        if value is not None:
            return _amount(value, field)
    raise InputError(
        "FRM002",
        f"neither {estimate} nor {minimum} is given",
        place=minimum,
        expected="an amount of GiB above 0 in one of them",
    )


def _amount(value: object, place: str) -> Decimal:
    """Return `value` as an exact decimal of the shortest digits; raises `InputError` FRM003."""
    number = _decimal(value)
    if number is None or not 0 < number <= _LARGEST_GIB:
        raise InputError(
            "FRM003",
            "not an amount of memory",
            place=place,
            found=value,
            expected=f"a number of GiB above 0, at most {_LARGEST_GIB}",
        )
    return number


def _decimal(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    if isinstance(value, int):
        return Decimal(value) if abs(value) <= _LARGEST_GIB else None
    if not isfinite(value):
        return None
    return value if isinstance(value, Decimal) else Decimal(repr(value))


def _shortest(number: Decimal) -> str:
    """Return `number` without exponent and without zeros that say nothing: 12.0 is 12."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _at(place: str, field: str) -> str:
    return f"{place}: {field}" if place else field
