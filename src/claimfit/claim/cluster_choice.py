"""Which driver and device class of a cluster a claim is written for.

Shipped drivers come in the order of `claimfit.hardware.drivers`, vendors before llmfit.ai, because
boards that a vendor's driver owns are published by llmfit.ai for information only; a user's own
drivers come first. Of each driver its default class, then the others on whose devices engines run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.claim.planner import ClaimPlan, plan_claim
from claimfit.errors import InexpressibleError, NotSatisfiableError, RefusedError
from claimfit.hardware.drivers import Target, driver_names, known_driver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from claimfit.claim.inventory import Inventory
    from claimfit.claim.need import ClaimNeed
    from claimfit.hardware.facts import DriverDescription

__all__ = ["plan_on_cluster", "targets_of"]


def targets_of(inventory: Inventory, own: Sequence[DriverDescription] = ()) -> tuple[Target, ...]:
    """Return the drivers and classes of `inventory` that models can be served through, best first.

    Raises `NotSatisfiableError` CLM021 when there is none.
    """
    published = {item.driver for item in inventory.devices}
    names = (*(item.name for item in own), *driver_names())
    found = tuple(
        target
        for name in dict.fromkeys(names)
        if name in published and (description := known_driver(name, own)) is not None
        for target in _classes(description, inventory)
    )
    if not found:
        raise NotSatisfiableError(
            "CLM021",
            "no driver there offers devices that models are served on",
            place=inventory.source,
            found=", ".join(sorted(published)) or "no device at all",
            expected="a driver of accelerators and one of its device classes",
            fix="describe your driver in a file and pass --driver-file FILE",
        )
    return found


def plan_on_cluster(need: ClaimNeed, inventory: Inventory, targets: Sequence[Target]) -> ClaimPlan:
    """Return the plan for the first of `targets` whose devices in `inventory` satisfy `need`.

    Raises:
        NotSatisfiableError: CLM022, the class of the only target does not exist; CLM023, no node
            has what is needed.
        InexpressibleError: when the only target cannot be asked.
        UsageError, SizingError, ModelError: as `plan_claim` does.
    """
    refusals: list[RefusedError] = []
    for target in targets:
        _check_class(target, inventory)
        asked = need._replace(driver=target.driver, device_class=target.device_class)
        try:
            return plan_claim(asked, inventory)
        except (NotSatisfiableError, InexpressibleError) as refusal:
            refusals.append(refusal)
    if len(refusals) == 1:
        raise refusals[0]
    raise NotSatisfiableError(
        "CLM023",
        f"no node can serve {need.model.name} through any of its device classes",
        place=inventory.source,
        found="; ".join(
            f"{target.device_class.name}: {refusal.found or refusal.message}"
            for target, refusal in zip(targets, refusals, strict=True)
        ),
        fix="claimfit fit MODEL --cluster SOURCE says what each node lacks",
    )


def _classes(description: DriverDescription, inventory: Inventory) -> Iterator[Target]:
    """Yield the classes of `description` that exist and serve, its default class first."""
    if not description.serves_models:
        return
    existing = inventory.device_classes
    classes = sorted(description.classes, key=lambda item: item.name != description.default_class)
    for item in classes:
        if description.serving_kinds(item) and (not existing or item.name in existing):
            yield Target(description, item)


def _check_class(target: Target, inventory: Inventory) -> None:
    existing = inventory.device_classes
    if existing and target.device_class.name not in existing:
        raise NotSatisfiableError(
            "CLM022",
            "the device class does not exist there",
            place=inventory.source,
            found=target.device_class.name,
            expected="one of " + ", ".join(existing),
            candidates=tuple(existing),
        )
