"""``claimfit claim --from-fit FILE``: a claim from the memory fields of a ModelFit."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from claimfit._version import __version__
from claimfit.claim.from_fit import (
    claim_from_fit,
    mib_up,
    read_model_fit,
    resource_claim_from_fit,
)
from claimfit.claim.names import check_label
from claimfit.cli.claim_target import chosen_target
from claimfit.cli.own_files import own_drivers, read_bytes
from claimfit.errors import InputError, UsageError
from claimfit.manifests.emitter import json_text, yaml_text
from claimfit.units.quantity import Quantity

if TYPE_CHECKING:
    import argparse

    from claimfit.claim.from_fit import ModelFit
    from claimfit.manifests.emitter import JsonValue

__all__ = ["run"]

_SCHEMA: Final = "claimfit.dev/claim-from-fit/v1"
_SIZING: Final = ("context", "concurrency", "quant", "kv_dtype", "engine", "engine_version")
_ENGINE: Final = ("tp", "pp", "gpu_memory_utilization", "lora_adapters", "lora_rank")
_CHOOSING: Final = ("min_tps", "cluster", "count")
_SHAPING: Final = ("alternatives", "same", "share", "calibration", "models", "name_hash")
_VALID_FORM_ONLY: Final = ("target", "driver_file", "template")
_VALID_FORM_NAMES: Final = ("device_class", "namespace", "name")
"""Given even when empty: their default is None."""
_SERVED_BY_NONE: Final = (
    "warning: no Kubernetes serves this manifest: resource.k8s.io/v1alpha2 never had "
    "spec.resources; leave out --dialect for one that can be applied\n"
)


def run(arguments: argparse.Namespace) -> int:
    """Write the claim to stdout; return 0."""
    as_specified = arguments.dialect == "fit-v1alpha2"
    _refuse_other_flags(arguments, as_specified=as_specified)
    fit = _read(arguments.from_fit)
    if not as_specified:
        return _write_v1(arguments, fit)
    manifest = resource_claim_from_fit(fit)
    as_json = arguments.output == "json"
    sys.stdout.write(json_text(manifest) if as_json else yaml_text(manifest))
    sys.stderr.write(_SERVED_BY_NONE)
    return 0


def _refuse_other_flags(arguments: argparse.Namespace, *, as_specified: bool) -> None:
    """Raise `UsageError` CLM009 for what has no meaning beside --from-fit."""
    meaningless = _SIZING + _ENGINE + _CHOOSING + _SHAPING
    names = [name for name in meaningless if getattr(arguments, name)]
    if arguments.unlisted != "exclude":
        names.append("unlisted")
    if as_specified:
        names += [name for name in _VALID_FORM_ONLY if getattr(arguments, name)]
        names += [name for name in _VALID_FORM_NAMES if getattr(arguments, name) is not None]
    given = ["MODEL"] if arguments.model else []
    given += [f"--{name.replace('_', '-')}" for name in names]
    if given:
        raise UsageError(
            "CLM009",
            "the fit says what is needed, so this has no meaning beside --from-fit",
            place="--from-fit",
            found=", ".join(given),
            fix=f"leave out {', '.join(given)}, or --from-fit",
        )


def _read(path: str) -> ModelFit:
    from claimfit.manifests.reader import read_documents

    documents = read_documents(read_bytes(path), path)
    if len(documents) != 1 or not isinstance(documents[0].value, Mapping):
        raise InputError(
            "FRM005",
            "not a ModelFit",
            place=path,
            found=f"{len(documents)} documents" if len(documents) != 1 else documents[0].value,
            expected="one object with name, min_ram_gb and min_vram_gb",
        )
    return read_model_fit(documents[0].value, path)


def _write_v1(arguments: argparse.Namespace, fit: ModelFit) -> int:
    drivers = tuple(item.driver for item in own_drivers(arguments.driver_file))
    target = chosen_target(arguments, drivers)
    memory = str(Quantity.of_mib(mib_up(fit.memory_gib)))
    manifest = claim_from_fit(
        fit,
        target,
        name="" if arguments.name is None else check_label(arguments.name, "--name"),
        namespace=""
        if arguments.namespace is None
        else check_label(arguments.namespace, "--namespace"),
        template=arguments.template,
    )
    if arguments.output == "json":
        report: dict[str, JsonValue] = {
            "schemaVersion": _SCHEMA,
            "generator": f"claimfit {__version__}",
            "model": fit.name,
            "podResources": {"requests": {"memory": memory}},
            "manifest": manifest,
        }
        sys.stdout.write(json_text(report))
        return 0
    device_memory = Quantity.of_mib(mib_up(fit.device_memory_gib))
    through = target.device_class.name
    header = [
        f"{fit.name} from its fit: {device_memory} of device memory through {through}",
        f"System memory is no device: give the container  resources.requests.memory: {memory}",
        f"made by claimfit {__version__}",
    ]
    sys.stdout.write(yaml_text(manifest, header))
    return 0
