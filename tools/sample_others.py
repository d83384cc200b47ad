"""The invented clusters of llmfit.ai, and of TPU, Gaudi and Trainium."""

from __future__ import annotations

from sample_objects import Object, claim, classes, device, node, slice_of, taint, token, uuid

from claimfit.hardware.accelerators import accelerator

STANDARD = "resource.kubernetes.io"


def llmfit_device(
    kind: str, address: str, facts: dict[str, str | int | bool], memory: str
) -> Object:
    """Return a PCI device as llmfit-dra publishes it."""
    root = f"pci0000:{int(address[5:7], 16) // 0x20 * 0x20:02x}"
    attributes: dict[str, str | int | bool | Object] = {
        "kind": kind,
        "healthy": True,
        "source": "llmfit",
        "pciAddress": address,
        "pcieRoot": root,
        f"{STANDARD}/pcieRoot": root,
        **facts,
    }
    name = f"{kind}-" + address.replace(":", "-").replace(".", "-")
    return device(name, attributes, {"memory": memory} if memory else {})


def llmfit_cpu(model: str, memory: str) -> Object:
    """Return the processor of a node, which has memory and no bandwidth."""
    facts: dict[str, str | int | bool | Object] = {
        "kind": "cpu",
        "healthy": True,
        "vendor": "cpu",
        "source": "llmfit",
        "model": model,
        "unifiedMemory": True,
    }
    return device("cpu0", facts, {"memory": memory})


def llmfit() -> list[Object]:
    """GPUs, NPUs, CPUs and network cards of llmfit-dra; one ill, one owned by another driver."""
    name = "llmfit.ai"
    halo = llmfit_device(
        "gpu",
        "0000:c3:00.0",
        {
            "vendor": "amd",
            "driver": "amdgpu",
            "model": "Radeon 8060S",
            "backend": "ROCm",
            "indexed": True,
            "memoryBandwidthGBs": 256,
            "computeTFLOPS": 59,
            "unifiedMemory": True,
        },
        "96Gi",
    )
    npu = llmfit_device(
        "npu",
        "0000:c4:00.1",
        {
            "vendor": "amd",
            "driver": "amdxdna",
            "model": "XDNA2",
            "source": "index",
            "indexed": True,
            "memoryBandwidthGBs": 256,
            "unifiedMemory": True,
        },
        "96Gi",
    )
    arc = llmfit_device(
        "gpu",
        "0000:00:02.0",
        {
            "vendor": "intel",
            "driver": "xe",
            "model": "Arc 140V",
            "backend": "SYCL",
            "indexed": True,
            "memoryBandwidthGBs": 136,
            "unifiedMemory": True,
        },
        "32Gi",
    )
    geforce = llmfit_device(
        "gpu",
        "0000:01:00.0",
        {
            "vendor": "nvidia",
            "driver": "nvidia",
            "model": "NVIDIA GeForce RTX 4090",
            "backend": "CUDA",
            "indexed": True,
            "memoryBandwidthGBs": 1008,
            "computeTFLOPS": 165,
            "unifiedMemory": False,
        },
        "24564Mi",
    )
    network = llmfit_device(
        "nic",
        "0000:21:00.0",
        {
            "vendor": "mellanox",
            "driver": "mlx5_core",
            "source": "probe",
            "linkLayer": "InfiniBand",
            "rateGbps": 400,
            "netdev": "ib0",
        },
        "",
    )
    ill = llmfit_device(
        "gpu",
        "0000:03:00.0",
        {
            "vendor": "amd",
            "driver": "amdgpu",
            "model": "AMD Radeon RX 7900 XTX",
            "backend": "ROCm",
            "indexed": True,
            "memoryBandwidthGBs": 960,
            "computeTFLOPS": 122,
            "healthy": False,
            "healthReason": "uncorrectableEcc",
        },
        "24Gi",
    )
    ill = taint(ill, "llmfit.ai/unhealthy", "uncorrectableEcc", "NoSchedule")
    unknown = llmfit_device(
        "gpu",
        "0000:41:00.0",
        {
            "vendor": "pci-1ed5",
            "driver": "mtgpu",
            "model": "pci-1ed5-0222",
            "source": "probe",
            "indexed": False,
        },
        "",
    )
    owned = llmfit_device(
        "gpu",
        "0000:19:00.0",
        {
            "vendor": "nvidia",
            "driver": "nvidia",
            "model": "NVIDIA H100 80GB HBM3",
            "backend": "CUDA",
            "indexed": True,
            "memoryBandwidthGBs": 3350,
            "computeTFLOPS": 989,
            "vendorManaged": True,
        },
        "81559Mi",
    )
    return [
        slice_of("dgx-1", name, [owned, llmfit_cpu("Intel Xeon Platinum 8480C", "2015Gi")]),
        slice_of("edge-1", name, [halo, npu, llmfit_cpu("AMD Ryzen AI Max+ 395", "125Gi")]),
        slice_of("edge-2", name, [geforce, network, llmfit_cpu("AMD Ryzen 9 7950X", "62Gi")]),
        slice_of("edge-3", name, [ill, unknown, llmfit_cpu("Intel Core i7-13700K", "62Gi")]),
        slice_of("edge-4", name, [arc, llmfit_cpu("Intel Core Ultra 7 258V", "31Gi")]),
        *(
            node(item, cpu=cpu, memory=memory, labels={"pool": "edge"})
            for item, cpu, memory in (
                ("dgx-1", 224, "2015Gi"),
                ("edge-1", 32, "125Gi"),
                ("edge-2", 32, "62Gi"),
                ("edge-3", 24, "62Gi"),
                ("edge-4", 8, "31Gi"),
            )
        ),
        *classes(name),
        claim(
            "home",
            "voice-0",
            "npu.llmfit.ai",
            (name, "edge-1", ["npu-0000-c4-00-1"]),
            pod="voice-0",
        ),
    ]


def tpu(
    node_name: str, identifier: str, accelerator_label: str, topology: str, count: int
) -> Object:
    """Return the slice of a TPU node."""
    generation = dict(accelerator(identifier).published[0].attributes)["tpuGen"]
    devices = [
        device(
            str(index),
            {
                "index": index,
                "uuid": f"tpu-{uuid('tpu', node_name, str(index))}",
                "tpuGen": generation,
                "brand": "Google",
                "accelerator": accelerator_label,
                "chipCount": count,
                "topology": topology,
            },
            {},
        )
        for index in range(count)
    ]
    return slice_of(node_name, "tpu.google.com", devices)


def gaudi(node_name: str, model: str, pci_id: str, *, ill: int = -1) -> Object:
    """Return the slice of a Gaudi node of eight cards, card `ill` unhealthy."""
    devices = []
    for index in range(8):
        bus = 0x0F + 0x10 * index
        root = bus // 0x40 * 0x40
        devices.append(
            device(
                f"0000-{bus:02x}-00-0-{pci_id}",
                {
                    "model": model,
                    "serial": f"AN{int(uuid(node_name, str(index))[:6], 16):08d}",
                    "healthy": index != ill,
                    "pciRoot": f"{root:02x}",
                    f"{STANDARD}/pcieRoot": f"pci0000:{root:02x}",
                },
                {},
            )
        )
    return slice_of(node_name, "gaudi.intel.com", devices)


def neuron(node_name: str, instance: str) -> Object:
    """Return the slice of a Trainium node of sixteen devices."""
    devices = [
        device(
            f"neurondevice{index}",
            {
                "instanceType": instance,
                "neuronDriverVersion": "2.25.4.0",
                **{
                    f"resource.aws.com/devicegroup{size}_id": token(
                        node_name, str(size), str(index // size), length=16
                    )
                    for size in (1, 4, 8, 16)
                },
            },
            {},
        )
        for index in range(16)
    ]
    return slice_of(node_name, "neuron.aws.com", devices)


def tpu_gaudi() -> list[Object]:
    """Accelerators whose drivers publish no memory: TPU, Gaudi and Trainium."""
    names = ("tpu.google.com", "gaudi.intel.com", "neuron.aws.com")
    return [
        tpu("tpu-1", "google-tpu-v6e", "tpu-v6e-slice", "2x4", 8),
        tpu("tpu-2", "google-tpu-v5e", "tpu-v5-lite-podslice", "2x2", 4),
        gaudi("gaudi-1", "Gaudi3", "0x1060"),
        gaudi("gaudi-2", "Gaudi2", "0x1020", ill=5),
        neuron("trn-1", "trn2.48xlarge"),
        *(
            node(item, cpu=180, memory="1440Gi", labels={"pool": item.partition("-")[0]})
            for item in ("tpu-1", "tpu-2", "gaudi-1", "gaudi-2", "trn-1")
        ),
        *(item for name in names for item in classes(name)),
        claim(
            "serving",
            "chat-0-gaudi",
            "gaudi.intel.com",
            ("gaudi.intel.com", "gaudi-1", ["0000-0f-00-0-0x1060", "0000-1f-00-0-0x1060"]),
            pod="chat-0",
        ),
    ]
