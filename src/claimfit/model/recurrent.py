"""Parameters and state of mixers that keep a state of fixed size: state spaces, linear attention.

State sizes are elements of one sequence in one layer. A convolution of kernel k keeps the last
k - 1 inputs of each channel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimfit.model.facts import Cache
from claimfit.model.shape import Mixer

if TYPE_CHECKING:
    from claimfit.model.shape import Shape

__all__ = ["recurrent_mixer"]

_MOST = 65_536


def recurrent_mixer(shape: Shape) -> Mixer:
    """Return the recurrent mixer of the model's family.

    Raises:
        InputError: CFG001 or CFG002 for its sizes, CFG004 when the family has no such mixer.
    """
    match shape.family.linear:
        case "delta-net":
            return _delta_net(shape)
        case "kda":
            return _kimi_delta(shape)
        case "lightning":
            return _lightning(shape)
        case "mamba1":
            return _mamba1(shape)
        case "mamba2":
            return _mamba2(shape)
        case "short-conv":
            return _short_convolution(shape)
        case _:
            raise shape.fields.unsupported(
                "layer_types", "a linear layer", "attention layers for this model type"
            )


def _linear(parameters: int, state: int, convolution: int) -> Mixer:
    cache = Cache("linear", state_elements=state, convolution_elements=convolution)
    return Mixer(parameters, 0, cache)


def _delta_net(shape: Shape) -> Mixer:
    """Return the gated delta net of Qwen3-Next and Qwen3.5."""
    fields, hidden = shape.fields, shape.hidden_size
    key_heads = fields.count("linear_num_key_heads", most=_MOST)
    value_heads = fields.count("linear_num_value_heads", most=_MOST)
    key_size = fields.count("linear_key_head_dim", most=_MOST)
    value_size = fields.count("linear_value_head_dim", most=_MOST)
    kernel = fields.count("linear_conv_kernel_dim", most=_MOST)
    keys, values = key_heads * key_size, value_heads * value_size
    channels = 2 * keys + values
    parameters = hidden * (channels + values + 2 * value_heads)  # q k v, gate, beta and decay
    parameters += channels * kernel + 2 * value_heads + value_size + values * hidden
    return _linear(parameters, value_heads * key_size * value_size, channels * (kernel - 1))


def _kimi_delta(shape: Shape) -> Mixer:
    """Return Kimi delta attention: low-rank forget gate, low-rank or full output gate."""
    fields, hidden = shape.fields, shape.hidden_size
    section = fields.section("linear_attn_config") or fields
    heads = section.count("num_heads", "linear_num_heads", most=_MOST)
    size = section.count("head_dim", "linear_head_dim", most=_MOST)
    kernel = section.count("short_conv_kernel_size", "linear_conv_kernel_dim", most=_MOST)
    width = heads * size
    low_rank = hidden * size + size * width
    gate = hidden * width if section.flag("use_full_rank_gate", default=False) else low_rank
    parameters = 4 * hidden * width + 3 * width * kernel + low_rank + gate
    parameters += hidden * heads + width + heads + size  # beta, dt bias, A, output norm
    return _linear(parameters, heads * size * size, 3 * width * (kernel - 1))


def _lightning(shape: Shape) -> Mixer:
    """Return lightning attention of MiniMax-Text-01 and M1."""
    hidden, width = shape.hidden_size, shape.heads * shape.head_size
    parameters = 5 * hidden * width + width  # q k v, gate, output; norm
    mixer = _linear(parameters, width * shape.head_size, 0)
    return mixer._replace(heads=shape.heads)


def _mamba1(shape: Shape) -> Mixer:
    """Return the selective state space of Mamba, Falcon-Mamba and Jamba."""
    fields, hidden = shape.fields, shape.hidden_size
    inner = fields.count("mamba_expand", "expand", most=64) * hidden
    state = fields.count("mamba_d_state", "state_size", most=_MOST)
    kernel = fields.count("mamba_d_conv", "conv_kernel", most=_MOST)
    rank = -(-hidden // 16)
    if fields.raw("mamba_dt_rank", "time_step_rank") != "auto":
        rank = fields.optional_count("mamba_dt_rank", "time_step_rank", default=rank, least=1)
    parameters = hidden * 2 * inner + inner * kernel + inner * (rank + 2 * state)
    parameters += rank * inner + inner + inner * state + inner + inner * hidden
    if fields.flag("mamba_conv_bias", "use_conv_bias", default=True):
        parameters += inner
    if shape.family.attends:  # Jamba norms dt, B and C
        parameters += rank + 2 * state
    return _linear(parameters, inner * state, inner * (kernel - 1))


def _mamba2(shape: Shape) -> Mixer:
    """Return the Mamba-2 mixer of Nemotron-H, Bamba, Granite 4, Falcon-H1 and Mamba-2 itself."""
    fields, hidden = shape.fields, shape.hidden_size
    plain = () if shape.family.attends else ("num_heads",)
    heads = fields.count("mamba_num_heads", "mamba_n_heads", *plain, most=_MOST)
    inner = _inner_size(shape, heads)
    state = fields.count("ssm_state_size", "mamba_d_state", "state_size", most=_MOST)
    groups = fields.optional_count("mamba_n_groups", "n_groups", default=1, least=1, most=_MOST)
    kernel = fields.count("conv_kernel", "mamba_d_conv", most=_MOST)
    channels = inner + 2 * groups * state
    parameters = hidden * (inner + channels + heads) + channels * kernel + 3 * heads
    parameters += inner * hidden
    if fields.flag("use_conv_bias", "mamba_conv_bias", default=True):
        parameters += channels
    if not shape.family.parallel_state or fields.flag("mamba_rms_norm", default=False):
        parameters += inner
    return _linear(parameters, inner * state, channels * (kernel - 1))


def _inner_size(shape: Shape, heads: int) -> int:
    """Return the inner width: heads x head size where stated, else the expansion."""
    fields = shape.fields
    stated = fields.optional_count("mamba_d_ssm")
    if stated:
        return stated
    plain = () if shape.family.attends else ("head_dim",)
    names = ("mamba_head_dim", "mamba_d_head", *plain)
    if fields.raw(*names) not in (None, "auto"):
        return heads * fields.count(*names, most=_MOST)
    return shape.hidden_size * fields.count("mamba_expand", "expand", most=64)


def _short_convolution(shape: Shape) -> Mixer:
    """Return the gated short convolution of LFM2."""
    fields, hidden = shape.fields, shape.hidden_size
    kernel = fields.count("conv_L_cache", most=_MOST)
    parameters = 4 * hidden * hidden + hidden * kernel
    if fields.flag("conv_bias", default=False):
        parameters += 5 * hidden
    return _linear(parameters, 0, hidden * (kernel - 1))
