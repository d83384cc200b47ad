"""Which tensor type a GGUF quantization gives to which tensor.

A name such as Q4_K_M is no type but a recipe: most matrices become Q4_K, values and half of the
down projections Q6_K, the output head Q6_K. How many bits a weight takes on average therefore
depends on the shape of the model. The rules here are those of `src/llama-quant.cpp` in
ggml-org/llama.cpp (commit 007dbbf3): with an importance matrix for types of 3 bits and less, which
need one, without for IQ4;
`claimfit.model.weights` applies them to the shapes of a model.

Not modelled, because a shape does not tell them: fallback types of rows that are no multiple of
256, and tensors that whoever made the file overrode by hand. A file's header always wins.
"""

from __future__ import annotations

from typing import Final, Literal

from claimfit.records import NamedTuple

__all__ = ["RECIPES", "Recipe", "Rule", "type_in_layer"]

Where = Literal[
    "all", "first-eighth", "first-sixteenth", "first-two", "first-four", "more", "middle"
]


class Rule(NamedTuple):
    """`special` where the layer is one of `where`, `base` elsewhere. Both are ggml type names."""

    base: str
    special: str = ""
    where: Where = "all"


class Recipe(NamedTuple):
    """The types of one quantization by tensor role; None means `base`."""

    base: str
    embedding: str = ""
    """Input embedding of a model with an output head of its own; empty is `base`."""
    output: str = "Q6_K"
    """Output head, and the embedding of a model whose head is tied to it."""
    query: str = ""
    key: str = ""
    value: Rule | None = None
    grouped_value: str = ""
    """Values where at least 4 query heads share one; empty is `value`."""
    attention_output: str = ""
    gate_up: Rule | None = None
    down: Rule | None = None
    eight_expert_output: str = ""
    """Attention output of models with exactly 8 experts; empty is `attention_output`."""
    expert: str = ""
    """Routed experts, when they have a type of their own."""


def type_in_layer(rule: Rule | None, base: str, layer: int, layers: int) -> str:
    """Return the tensor type that `rule` gives in `layer` of `layers`; `base` without a rule."""
    if rule is None:
        return base
    eighth = layers // 8
    match rule.where:
        case "all":
            return rule.base
        case "first-eighth":
            special = layer < eighth
        case "first-sixteenth":
            special = layer < layers // 16
        case "first-two":
            special = layer < 2
        case "first-four":
            special = layer < 4
        case "middle":
            special = eighth <= layer < 7 * layers // 8
        case "more":
            special = layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2
    return rule.special if special else rule.base


def _low_bits(base: str, spare: str, embedding: str, output: str) -> Recipe:
    """Return a recipe of the 1 and 2 bit IQ family, which differ in four types only."""
    return Recipe(
        base,
        embedding=embedding,
        output="Q5_K",
        value=Rule(spare),
        grouped_value="Q4_K",
        attention_output=output,
        down=Rule(base, spare, "first-eighth"),
        eight_expert_output="Q5_K",
    )


RECIPES: Final[dict[str, Recipe]] = {
    "Q8_0": Recipe("Q8_0", output="Q8_0"),
    "Q6_K": Recipe("Q6_K"),
    "Q5_K_M": Recipe("Q5_K", value=Rule("Q5_K", "Q6_K", "more"), down=Rule("Q5_K", "Q6_K", "more")),
    "Q5_K_S": Recipe("Q5_K"),
    "Q5_1": Recipe("Q5_1"),
    "Q5_0": Recipe("Q5_0"),
    "Q4_K_M": Recipe(
        "Q4_K",
        value=Rule("Q4_K", "Q6_K", "more"),
        down=Rule("Q4_K", "Q6_K", "more"),
        eight_expert_output="Q5_K",
    ),
    "Q4_K_S": Recipe(
        "Q4_K",
        value=Rule("Q4_K", "Q5_K", "first-four"),
        down=Rule("Q4_K", "Q5_K", "first-eighth"),
        eight_expert_output="Q5_K",
    ),
    "Q4_1": Recipe("Q4_1"),
    "Q4_0": Recipe("Q4_0"),
    "IQ4_NL": Recipe(
        "IQ4_NL",
        grouped_value="Q5_K",
        down=Rule("IQ4_NL", "Q5_K", "first-eighth"),
        eight_expert_output="Q5_K",
    ),
    "IQ4_XS": Recipe(
        "IQ4_XS",
        grouped_value="Q5_K",
        down=Rule("IQ4_XS", "Q5_K", "first-eighth"),
        eight_expert_output="Q5_K",
    ),
    "Q3_K_L": Recipe("Q3_K", value=Rule("Q5_K"), attention_output="Q5_K", down=Rule("Q5_K")),
    "Q3_K_M": Recipe(
        "Q3_K",
        value=Rule("Q4_K", "Q5_K", "first-two"),
        attention_output="Q4_K",
        down=Rule("Q4_K", "Q5_K", "first-sixteenth"),
        eight_expert_output="Q5_K",
    ),
    "Q3_K_S": Recipe("Q3_K", eight_expert_output="Q5_K"),
    "IQ3_M": Recipe(
        "IQ3_S",
        value=Rule("Q4_K"),
        attention_output="Q4_K",
        down=Rule("IQ3_S", "Q4_K", "first-eighth"),
        eight_expert_output="Q5_K",
    ),
    "IQ3_S": Recipe("IQ3_S", grouped_value="Q4_K", eight_expert_output="Q5_K"),
    "IQ3_XS": Recipe(
        "IQ3_S",
        query="IQ3_XXS",
        key="IQ3_XXS",
        grouped_value="Q4_K",
        gate_up=Rule("IQ3_S", "IQ3_XXS", "middle"),
        eight_expert_output="Q5_K",
    ),
    "IQ3_XXS": Recipe(
        "IQ3_XXS",
        embedding="IQ3_S",
        output="Q5_K",
        query="IQ2_S",
        key="IQ2_S",
        grouped_value="Q4_K",
        attention_output="IQ3_S",
        eight_expert_output="Q5_K",
    ),
    "Q2_K": Recipe(
        "Q2_K",
        value=Rule("Q3_K"),
        grouped_value="Q4_K",
        attention_output="Q3_K",
        down=Rule("Q3_K"),
        eight_expert_output="Q5_K",
    ),
    "Q2_K_S": Recipe("Q2_K", grouped_value="Q4_K", down=Rule("Q2_K", "Q4_K", "first-eighth")),
    "IQ2_M": _low_bits("IQ2_S", "IQ3_S", "IQ3_S", "IQ3_S"),
    "IQ2_S": _low_bits("IQ2_XS", "IQ3_S", "IQ3_S", "IQ3_S"),
    "IQ2_XS": _low_bits("IQ2_XS", "Q2_K", "Q2_K", ""),
    "IQ2_XXS": _low_bits("IQ2_XXS", "Q2_K", "Q2_K", ""),
    "IQ1_M": _low_bits("IQ1_M", "Q2_K", "Q2_K", "IQ2_XXS"),
    "IQ1_S": _low_bits("IQ1_S", "Q2_K", "Q2_K", "IQ2_XXS"),
    "TQ1_0": Recipe("TQ1_0", embedding="Q4_K"),
    "TQ2_0": Recipe("TQ2_0", embedding="Q4_K"),
    "MXFP4_MOE": Recipe("Q8_0", output="Q8_0", expert="MXFP4"),
    # Unsloth's dynamic 8 bit keeps embedding, head and part of attention in BF16.
    "UD-Q8_K_XL": Recipe(
        "Q8_0", embedding="BF16", output="BF16", value=Rule("BF16"), attention_output="BF16"
    ),
    # Community variants: the named recipe with embedding and head at more bits (bartowski's _L,
    # unsloth's _XL).
    "Q6_K_L": Recipe("Q6_K", embedding="Q8_0", output="Q8_0"),
    "Q5_K_L": Recipe(
        "Q5_K",
        embedding="Q8_0",
        output="Q8_0",
        value=Rule("Q5_K", "Q6_K", "more"),
        down=Rule("Q5_K", "Q6_K", "more"),
    ),
    "Q4_K_L": Recipe(
        "Q4_K",
        embedding="Q8_0",
        output="Q8_0",
        value=Rule("Q4_K", "Q6_K", "more"),
        down=Rule("Q4_K", "Q6_K", "more"),
        eight_expert_output="Q5_K",
    ),
    "Q3_K_XL": Recipe(
        "Q3_K",
        embedding="Q8_0",
        output="Q8_0",
        value=Rule("Q5_K"),
        attention_output="Q5_K",
        down=Rule("Q5_K"),
    ),
    "Q2_K_L": Recipe(
        "Q2_K",
        embedding="Q8_0",
        output="Q8_0",
        value=Rule("Q3_K"),
        grouped_value="Q4_K",
        attention_output="Q3_K",
        down=Rule("Q3_K"),
        eight_expert_output="Q5_K",
    ),
}
"""Canonical name -> recipe. Names without a recipe are plain types (F16, BF16, F32)."""
