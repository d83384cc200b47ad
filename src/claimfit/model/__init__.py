"""What is to be served: facts from configurations, file headers and catalogues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit._exports import lazy

if TYPE_CHECKING:
    from claimfit.model.catalogue import built_in
    from claimfit.model.config import facts_from_config
    from claimfit.model.facts import Cache, FileWeights, Layer, LoraAdapters, Mixture, ModelFacts
    from claimfit.model.lookup import Sources, find_model
    from claimfit.model.quantization import Quantization
    from claimfit.model.weights import WeightSplit, weight_split

__all__ = [
    "Cache",
    "FileWeights",
    "Layer",
    "LoraAdapters",
    "Mixture",
    "ModelFacts",
    "Quantization",
    "Sources",
    "WeightSplit",
    "built_in",
    "facts_from_config",
    "find_model",
    "weight_split",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Cache": "claimfit.model.facts",
        "FileWeights": "claimfit.model.facts",
        "Layer": "claimfit.model.facts",
        "LoraAdapters": "claimfit.model.facts",
        "Mixture": "claimfit.model.facts",
        "ModelFacts": "claimfit.model.facts",
        "Quantization": "claimfit.model.quantization",
        "Sources": "claimfit.model.lookup",
        "WeightSplit": "claimfit.model.weights",
        "built_in": "claimfit.model.catalogue",
        "facts_from_config": "claimfit.model.config",
        "find_model": "claimfit.model.lookup",
        "weight_split": "claimfit.model.weights",
    },
)
