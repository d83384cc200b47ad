"""The invented clusters of NVIDIA, AMD and Intel GPUs, each as its own DRA driver publishes it."""

from __future__ import annotations

from sample_objects import Object, claim, classes, device, node, slice_of, taint, uuid, version

from claimfit.hardware.accelerators import accelerator

STANDARD = "resource.kubernetes.io"


def nvidia_attributes(identifier: str, index: int) -> dict[str, str | int | bool | Object]:
    """Return what GPUs and MIG slices of one board have in common."""
    board = accelerator(identifier)
    product = dict(board.published[0].attributes)["productName"]
    numa = index // 4
    return {
        "productName": product,
        "brand": "GeForce" if "GeForce" in str(product) else "Nvidia",
        "architecture": board.architecture,
        "cudaComputeCapability": version(board.compute_capability),
        "driverVersion": version("580.126.20"),
        "cudaDriverVersion": version("13.0.0"),
        "addressingMode": "HMM",
        f"{STANDARD}/pciBusID": f"0000:{0x19 + 0x11 * index:02x}:00.0",
        f"{STANDARD}/pcieRoot": f"pci0000:{0x15 + 0x11 * index:02x}",
        f"{STANDARD}/numaNode": numa,
    }


def nvidia(identifier: str, node_name: str, count: int, first: int = 0) -> list[Object]:
    """Return whole NVIDIA boards as gpu.nvidia.com publishes them."""
    found = []
    for index in range(first, first + count):
        attributes = nvidia_attributes(identifier, index)
        attributes |= {"type": "gpu", "uuid": f"GPU-{uuid('gpu', node_name, str(index))}"}
        capacities = dict(accelerator(identifier).published[0].capacities)
        found.append(device(f"gpu-{index}", attributes, capacities))
    return found


PROFILE_IDS = {"1g.5gb": 19, "2g.10gb": 14, "3g.20gb": 9, "4g.20gb": 5, "7g.40gb": 0}
"""GPU instance profile ids of `nvidia-smi mig -lgip`."""


def mig(identifier: str, node_name: str, index: int, layout: list[tuple[str, int]]) -> list[Object]:
    """Return the static MIG slices of one board; `layout` is (profile, first memory slice)."""
    found = []
    for profile, start in layout:
        part = accelerator(f"{identifier}-mig-{profile}")
        compute = int(profile[0])
        attributes = nvidia_attributes(identifier, index)
        attributes |= {
            "type": "mig",
            "profile": profile,
            "parentUUID": f"GPU-{uuid('gpu', node_name, str(index))}",
            "uuid": f"MIG-{uuid('mig', node_name, str(index), profile, str(start))}",
        }
        capacities = {
            **dict(part.published[0].capacities),
            "multiprocessors": str(14 * compute),
            "copyEngines": str(compute),
            "decoders": str(compute // 2),
            "encoders": "0",
            "jpegEngines": "0",
            "ofaEngines": "0",
            **{f"memorySlice{start + item}": "1" for item in range(part.memory_slices)},
        }
        name = f"gpu-{index}-mig-{profile.replace('.', '')}-{PROFILE_IDS[profile]}-{start}"
        found.append(device(name, attributes, capacities))
    return found


def mixed() -> list[Object]:
    """NVIDIA boards old and new, MIG slices, held and tainted devices, an incomplete pool."""
    name = "gpu.nvidia.com"
    tainted = nvidia("nvidia-h100-sxm", "gpu-3", 4)
    tainted[3] = taint(tainted[3], "gpu.nvidia.com/xid", "79", "NoSchedule")
    split = mig(
        "nvidia-a100-pcie-40",
        "gpu-5",
        0,
        [("1g.5gb", 0), ("1g.5gb", 1), ("2g.10gb", 2), ("3g.20gb", 4)],
    )
    split += mig("nvidia-a100-pcie-40", "gpu-5", 1, [("1g.5gb", start) for start in range(7)])
    workstation = nvidia("nvidia-rtx-4090", "ws-1", 1)
    workstation += nvidia("nvidia-rtx-3060-8", "ws-1", 1, first=1)
    boards = [f"gpu-{index}" for index in range(8)]
    return [
        slice_of("gpu-1", name, nvidia("nvidia-h200", "gpu-1", 8)),
        slice_of("gpu-2", name, nvidia("nvidia-h100-sxm", "gpu-2", 8), generation=3),
        slice_of("gpu-3", name, tainted, generation=2),
        slice_of("gpu-4", name, nvidia("nvidia-l40s", "gpu-4", 2)),
        slice_of("gpu-5", name, split),
        slice_of("gpu-6", name, nvidia("nvidia-a100-sxm-80", "gpu-6", 4), generation=2, slices=2),
        slice_of("gpu-7", name, nvidia("nvidia-h100-nvl", "gpu-7", 2)),
        slice_of("spark-1", name, nvidia("nvidia-gb10", "spark-1", 1)),
        slice_of("ws-1", name, workstation),
        *(
            node(item, cpu=cpu, memory=memory, labels={"pool": "gpu"}, cordoned=item == "gpu-7")
            for item, cpu, memory in (
                ("gpu-1", 192, "2113Gi"),
                ("gpu-2", 192, "2113Gi"),
                ("gpu-3", 96, "1056Gi"),
                ("gpu-4", 64, "512Gi"),
                ("gpu-5", 64, "512Gi"),
                ("gpu-6", 96, "1056Gi"),
                ("gpu-7", 64, "512Gi"),
                ("spark-1", 20, "119Gi"),
                ("ws-1", 32, "125Gi"),
            )
        ),
        *classes(name),
        claim("batch", "train-0", name, (name, "gpu-2", boards[:4]), pod="train-0-xk2lp"),
        claim("batch", "train-1", name, (name, "gpu-2", boards[4:6]), pod="train-1-9fqzd"),
        claim("serving", "chat-0-gpu", name, (name, "gpu-1", boards[:2]), pod="chat-0"),
        claim("serving", "embed-0-gpu", name, (name, "gpu-2", boards[6:7]), pod="embed-0"),
        claim(
            "serving",
            "rerank-0-gpu",
            "mig.nvidia.com",
            (name, "gpu-5", ["gpu-1-mig-1g5gb-19-0"]),
            pod="rerank-0",
        ),
        claim("serving", "spare", name, (name, "gpu-3", ["gpu-0"])),
        claim("serving", "waiting", name, None, count=16),
    ]


def amd_board(identifier: str, index: int) -> Object:
    """Return a whole AMD board as the driver publishes it today."""
    board = accelerator(identifier)
    published = board.published[0]
    attributes = amd_attributes(identifier, index)
    if "MI3" in board.name:
        attributes["partitionProfile"] = "spx_nps1"
    return device(f"gpu-{index}-{128 + index}", attributes, dict(published.capacities))


def amd_attributes(identifier: str, index: int) -> dict[str, str | int | bool | Object]:
    """Return what boards and partitions have in common."""
    board = accelerator(identifier)
    pci_id = (accelerator(board.parent) if board.parent else board).pci_ids[0]
    return {
        **dict(board.published[0].attributes),
        "deviceID": "0x" + pci_id.partition(":")[2],
        "driverVersion": version("6.12.12"),
        "driverVersionFull": "6.12.12",
        "numaNode": index // 4,
        f"{STANDARD}/pciBusID": f"0000:{0x05 + 0x20 * index:02x}:00.0",
        f"{STANDARD}/pcieRoot": f"pci0000:{0x20 * index:02x}",
    }


def amd_old_board(identifier: str, index: int) -> Object:
    """Return a whole board as releases of 2025 published it."""
    published = accelerator(identifier).published[0]
    attributes: dict[str, str | int | bool | Object] = {
        **dict(published.attributes),
        "pciAddr": f"0003:00:{index + 1:02x}.0",
        "cardIndex": index,
        "renderIndex": 128 + index,
        "deviceID": str(990_000_000_000_000_000 + index),
        "family": "AI",
        "driverVersion": version("6.10.5"),
        "driverSrcVersion": "0123456789ABCDEF0123456",
        "partitionProfile": "spx_nps1",
        f"{STANDARD}/pcieRoot": f"pci0003:{index:02x}",
    }
    return device(f"gpu-{index}-{128 + index}", attributes, dict(published.capacities))


def amd() -> list[Object]:
    """Instinct boards whole and in halves, Radeons, and one whose memory cannot be read."""
    name = "gpu.amd.com"
    halves = []
    for board in range(2):
        for half in range(2):
            attributes = amd_attributes("amd-mi300x-dpx", board)
            card = 2 * board + half
            capacities = dict(accelerator("amd-mi300x-dpx").published[0].capacities)
            halves.append(device(f"gpu-{card}-{128 + card}", attributes, capacities))
    radeons = [amd_board("amd-rx-7900-xtx", 0), amd_board("amd-rx-7900-xt", 1)]
    blind = device(
        "gpu-2-130",
        amd_attributes("amd-rx-7900-xtx", 2),
        {"memory": "0", "computeUnits": "96", "simdUnits": "384"},
    )
    return [
        slice_of("amd-1", name, [amd_board("amd-mi300x", item) for item in range(8)]),
        slice_of("amd-2", name, halves),
        slice_of("amd-3", name, [amd_board("amd-mi325x", item) for item in range(8)]),
        slice_of("amd-4", name, [*radeons, blind]),
        slice_of("amd-5", name, [amd_old_board("amd-mi300x", item) for item in range(1, 5)]),
        *(
            node(item, cpu=cpu, memory=memory, labels={"pool": "amd"})
            for item, cpu, memory in (
                ("amd-1", 192, "2267Gi"),
                ("amd-2", 96, "1133Gi"),
                ("amd-3", 192, "2267Gi"),
                ("amd-4", 32, "125Gi"),
                ("amd-5", 96, "1133Gi"),
            )
        ),
        *classes(name),
        claim("serving", "chat-0-gpu", name, (name, "amd-1", ["gpu-0-128"]), pod="chat-0"),
        claim("serving", "small-0-gpu", name, (name, "amd-2", ["gpu-0-128"]), pod="small-0"),
        claim("batch", "train-0", name, (name, "amd-3", [f"gpu-{i}-{128 + i}" for i in range(4)])),
    ]


def intel_board(identifier: str, bus: int, driver_name: str, *, plain: bool = False) -> Object:
    """Return an Intel GPU; `plain` is an installation that may not look into the device."""
    board = accelerator(identifier)
    published = dict(board.published[0].attributes)
    pci_id = "0x" + board.pci_ids[0].partition(":")[2]
    address = f"0000:{bus:02x}:00.0"
    attributes: dict[str, str | int | bool | Object] = {
        "model": "Unknown" if plain else published["model"],
        "family": "Unknown" if plain else published["family"],
        "driver": driver_name,
        "sriov": driver_name.startswith("xe"),
        "type": "gpu",
        "pciId": pci_id,
        "pciAddress": address,
        "pciRoot": f"{bus // 0x40 * 0x40:02x}",
        "health": "Healthy",
        f"{STANDARD}/pcieRoot": f"pci0000:{bus // 0x40 * 0x40:02x}",
        f"{STANDARD}/pciBusID": address,
    }
    memory = "0" if plain else dict(board.published[0].capacities)["memory"]
    name = address.replace(":", "-").replace(".", "-") + f"-{pci_id}"
    return device(name, attributes, {"memory": memory, "millicores": "1k"})


def intel() -> list[Object]:
    """Arc Pro, Max and Flex boards, one bound to VFIO, one ill, and a node that reports nothing."""
    name = "gpu.intel.com"
    ill = intel_board("intel-flex-170", 0x4D, "i915")
    ill["attributes"] = {**ill["attributes"], "health": {"string": "Unhealthy"}}  # type: ignore[dict-item]
    ill = taint(ill, "HealthIssues-MemoryTemperature", "true", "NoExecute")
    arcs = [intel_board("intel-arc-pro-b60", bus, "xe") for bus in (0x04, 0x08, 0x44)]
    passthrough = intel_board("intel-arc-pro-b60", 0x48, "xe-vfio-pci")
    return [
        slice_of("intel-1", name, [*arcs, passthrough]),
        slice_of(
            "intel-2",
            name,
            [
                intel_board("intel-max-1550", 0x29, "i915"),
                intel_board("intel-max-1550", 0x3A, "i915"),
            ],
        ),
        slice_of(
            "intel-3",
            name,
            [intel_board("intel-arc-pro-b60", bus, "xe", plain=True) for bus in (0x04, 0x08)],
        ),
        slice_of("intel-4", name, [intel_board("intel-flex-170", 0x4A, "i915"), ill]),
        *(
            node(item, cpu=64, memory="503Gi", labels={"pool": "intel"})
            for item in ("intel-1", "intel-2", "intel-3", "intel-4")
        ),
        *classes(name),
        claim(
            "serving", "chat-0-gpu", name, (name, "intel-1", ["0000-04-00-0-0xe211"]), pod="chat-0"
        ),
    ]
