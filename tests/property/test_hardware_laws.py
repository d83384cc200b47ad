"""Laws of the accelerator table, of identification and of driver files, for any input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from claimfit.errors import ClaimfitError, HardwareError
from claimfit.hardware.accelerators import accelerator, accelerators, with_memory
from claimfit.hardware.driver_file import DRIVER_SCHEMA, described, load_driver_file
from claimfit.hardware.drivers import driver, drivers
from claimfit.hardware.identification import DeviceIndex, identify

if TYPE_CHECKING:
    from claimfit.hardware.facts import Accelerator

KNOWN = accelerators()
DEVICES = st.sampled_from(KNOWN)
TEXT = st.text(max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
FIELDS = [
    "name",
    "aliases",
    "kinds",
    "classes",
    "attributes",
    "capacities",
    "health",
    "same",
    "memoryCapacity",
    "kindAttribute",
    "productAttributes",
    "boardReserveMib",
    "accelerators",
    "traps",
]
MI = 1 << 20


@given(st.text(max_size=200))
def test_any_name_is_one_device_or_a_coded_error(name: str) -> None:
    """No text makes `accelerator` fail otherwise, and its candidates are ids of the table."""
    try:
        found = accelerator(name)
    except HardwareError as error:
        assert error.code in {"HWD001", "HWD002"}
        assert set(error.candidates) <= {item.id for item in KNOWN}
        return
    assert found in KNOWN


@given(st.data())
def test_case_and_separators_of_an_id_do_not_matter(data: st.DataObject) -> None:
    """An id in any case, with any of its separators exchanged, means the same device or is refused
    as ambiguous with that device among the candidates."""
    identifier = data.draw(DEVICES).id
    spelled = "".join(
        data.draw(st.sampled_from([" ", "-", "_"])) if char == "-" else char for char in identifier
    )
    spelled = spelled.upper() if data.draw(st.booleans()) else spelled
    try:
        assert accelerator(spelled).id == identifier
    except HardwareError as error:
        assert error.code == "HWD002"
        assert identifier in error.candidates


@given(st.integers(min_value=-1, max_value=10**7), st.integers(min_value=0, max_value=10**6))
def test_a_higher_floor_admits_no_more(floor: int, more: int) -> None:
    """Raising the memory floor never admits a device that the lower floor left out."""
    assert set(with_memory(KNOWN, floor + more)) <= set(with_memory(KNOWN, floor))


@given(st.permutations(KNOWN), st.integers(min_value=0, max_value=400_000))
def test_identification_does_not_depend_on_the_order_of_the_table(
    table: list[Accelerator], memory_mib: int
) -> None:
    """Any order of the table answers the same for namesakes of any memory."""
    index = DeviceIndex(table)
    for product in ("NVIDIA GeForce RTX 3060", "NVIDIA GeForce RTX 3080", "NVIDIA H100 80GB HBM3"):
        attributes = {"type": "gpu", "productName": product}
        capacities = {"memory": memory_mib * MI}
        assert index.identify("gpu.nvidia.com", attributes, capacities) == identify(
            "gpu.nvidia.com", attributes, capacities
        )


@given(DEVICES, st.floats(min_value=0.925, max_value=1.075))
def test_memory_near_the_table_is_accepted_and_far_is_not(
    device: Accelerator, factor: float
) -> None:
    """Within 7.5 % a device is itself or a nearer namesake; at 1.3 times and more it is not."""
    for published in device.published:
        memory = device.memory_mib
        if memory is None:
            continue
        attributes = dict(published.attributes)
        near = identify(published.driver, attributes, {"memory": int(memory * MI * factor)})
        far = identify(published.driver, attributes, {"memory": int(memory * MI * 1.3)})
        assert near is not None
        assert far != device


@given(
    st.sampled_from([item.name for item in drivers()]) | TEXT,
    st.dictionaries(st.sampled_from(["type", "productName", "model", "profile", "tpuGen"]), VALUES),
    st.dictionaries(st.just("memory"), st.integers()),
)
def test_hostile_devices_are_identified_or_unknown(
    driver_name: str, attributes: dict[str, object], capacities: dict[str, int]
) -> None:
    """Values of any type and any number of bytes never raise."""
    found = identify(driver_name, attributes, capacities)
    assert found is None or found in KNOWN


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(FIELDS), VALUES))
def test_any_value_is_a_description_or_a_coded_error(fields: dict[str, object]) -> None:
    """Nothing that can be decoded makes the checks fail with anything but a DRV code."""
    base: dict[str, object] = {
        "schemaVersion": DRIVER_SCHEMA,
        "name": "gpu.acme.example",
        "kinds": [{"name": "card"}],
        "classes": [{"name": "gpu.acme.example"}],
    }
    try:
        described(base | fields, "any")
    except HardwareError as error:
        assert error.code.startswith("DRV")


@given(st.text(max_size=300))
def test_any_text_is_a_description_or_a_coded_error(text: str) -> None:
    """No file content makes the loader fail with anything but an error of ours."""
    try:
        load_driver_file(text, "any.yaml")
    except ClaimfitError as error:
        assert error.exit_code == 2


@given(st.text(max_size=300))
def test_any_driver_name_is_known_or_refused(name: str) -> None:
    """`driver` answers every text with a description or DRV001."""
    try:
        assert driver(name) in drivers()
    except HardwareError as error:
        assert error.code == "DRV001"
