"""The claim of the llmfit dialect: expected values are worked out beside the entries made here."""

from __future__ import annotations

import json
import math

import pytest

from claimfit.claim.llmfit import (
    ClaimTarget,
    FitBounds,
    LlmfitModel,
    claim_name,
    fit_bounds,
    render,
    render_json,
)
from claimfit.claim.llmfit_size import bytes_per_parameter, parameter_count
from claimfit.errors import ModelError, SizingError, UsageError

LLAMA_2 = LlmfitModel(
    name="Llama-2-7B-Chat",
    provider="Meta",
    parameter_count="7B",
    parameters_raw=7_000_000_000,
    min_ram_gb=8.0,
    min_vram_gb=6.0,
    quantization="Q4_K_M",
)
"""The model of the worked example in spec 000."""


def sized(parameters: int | None, text: str = "7B", name: str = "acme/Net") -> LlmfitModel:
    return LLAMA_2._replace(name=name, parameters_raw=parameters, parameter_count=text)


class TestBounds:
    def test_the_worked_example_follows_its_formula(self) -> None:
        """Spec 000's example prints 152 GB/s; its own formula gives 203, and the formula rules."""
        bounds = fit_bounds(LLAMA_2, ClaimTarget(min_tps=30.0, efficiency_pct=60))

        # 7.0 B x 0.58 = 4.06 GB; 30 x 4.06 x 100 / 60 = 203.0; memory: 6.0 of the entry > 4.06
        assert bounds.weights_gb == pytest.approx(4.06)
        assert bounds[:2] == (6, 203)
        assert bounds.quant == "Q4_K_M"

    def test_the_example_with_the_printed_weights_gives_195(self) -> None:
        """The 3.9 GB that the example prints need 195 GB/s, not 152."""
        model = sized(3_900_000_000)._replace(quantization="mlx-8bit")  # 1.0 byte per parameter

        # 30 x 3.9 x 100 / 60 = 195
        assert fit_bounds(model, ClaimTarget(30.0, 60)).min_bandwidth_gbs == 195

    def test_memory_is_the_larger_of_minimum_and_weights(self) -> None:
        """Without a minimum for video memory the one for RAM counts."""
        target = ClaimTarget()

        assert fit_bounds(LLAMA_2._replace(min_vram_gb=4.0), target).memory_gi == 5  # ceil(4.06)
        assert fit_bounds(LLAMA_2._replace(min_vram_gb=None), target).memory_gi == 8
        assert fit_bounds(LLAMA_2._replace(min_vram_gb=6.01), target).memory_gi == 7

    def test_another_quantization_gets_headroom(self) -> None:
        """1.2 x weights, and the entry's minimum no longer counts."""
        # Q8_0: 7 x 1.05 = 7.35 GB, x 1.2 = 8.82 -> 9; 20 x 7.35 x 100 / 55 = 267.3 -> 268
        assert fit_bounds(LLAMA_2, ClaimTarget(quant="Q8_0"))[:2] == (9, 268)
        # the entry's own, spelled otherwise, is another: 7 x 0.58 x 1.2 = 4.872 -> 5
        assert fit_bounds(LLAMA_2, ClaimTarget(quant="q4_k_m")).memory_gi == 5

    @pytest.mark.parametrize("rate", [0.0, -0.0, -1.0, -math.inf])
    def test_a_rate_must_be_above_zero(self, rate: float) -> None:
        """llmfit refuses these itself."""
        with pytest.raises(SizingError, match="LLM001"):
            fit_bounds(LLAMA_2, ClaimTarget(min_tps=rate))

    @pytest.mark.parametrize("percent", [0, 101, 4_294_967_295])
    def test_efficiency_is_a_percentage(self, percent: int) -> None:
        """llmfit refuses these itself."""
        with pytest.raises(SizingError, match="LLM002"):
            fit_bounds(LLAMA_2, ClaimTarget(efficiency_pct=percent))

    @pytest.mark.parametrize("model", [sized(0), sized(None, "-3B"), sized(None, "0M")])
    def test_a_model_without_parameters_has_no_bounds(self, model: LlmfitModel) -> None:
        """llmfit refuses these itself."""
        with pytest.raises(SizingError, match=r"LLM003: cannot size model 'acme/Net'"):
            fit_bounds(model, ClaimTarget())

    @pytest.mark.parametrize("rate", [math.nan, math.inf, 1e308])
    def test_a_rate_that_is_not_finite_is_refused(self, rate: float) -> None:
        """llmfit prints a bandwidth of 0 or 2**64 - 1 for these; 1e308 overflows on the way."""
        with pytest.raises(SizingError, match="LLM004"):
            fit_bounds(LLAMA_2, ClaimTarget(min_tps=rate))

    @pytest.mark.parametrize("text", ["infB", "nanM", "-nanB"])
    def test_a_size_that_is_not_finite_is_refused(self, text: str) -> None:
        """llmfit reads these words as numbers of parameters."""
        with pytest.raises(SizingError, match="LLM004"):
            fit_bounds(sized(None, text), ClaimTarget())

    def test_a_bandwidth_is_an_int64(self) -> None:
        """The API server refuses a CEL literal from 2**63 on, which llmfit prints."""
        gigabyte = sized(10**9)._replace(quantization="mlx-8bit")  # 1 GB: rate == bandwidth
        largest = 9_223_372_036_854_774_784.0  # the last float below 2**63

        found = fit_bounds(gigabyte, ClaimTarget(min_tps=largest, efficiency_pct=100))

        assert found.min_bandwidth_gbs == int(largest)
        with pytest.raises(SizingError, match="LLM005"):
            fit_bounds(gigabyte, ClaimTarget(min_tps=2.0**63, efficiency_pct=100))

    def test_memory_fits_a_quantity(self) -> None:
        """A Kubernetes quantity ends at 2**63 - 1 bytes, which is below 2**33 Gi."""
        enough = LLAMA_2._replace(min_vram_gb=8_589_934_591.0)

        assert fit_bounds(enough, ClaimTarget()).memory_gi == 2**33 - 1
        with pytest.raises(SizingError, match="LLM005"):
            fit_bounds(enough._replace(min_vram_gb=8_589_934_591.5), ClaimTarget())


class TestSize:
    def test_counts_are_read_as_llmfit_reads_them(self) -> None:
        """The count, else the text in B or M, else seven billion."""
        read = {
            text: parameter_count(sized(None, text)) for text in ("7B", " 1.5m ", "1e3b", "+2B")
        }

        assert {text: count.billions for text, count in read.items()} == {
            "7B": 7.0,
            " 1.5m ": 0.0015,
            "1e3b": 1000.0,
            "+2B": 2.0,
        }
        assert parameter_count(sized(1_234_567_890)).billions == 1.23456789

    @pytest.mark.parametrize("text", ["lots", "1.5T", "", "B", "8x7B", "1 B", "1_0B", "7K", "٧B"])
    def test_an_unreadable_count_is_seven_billion_and_says_so(self, text: str) -> None:
        """llmfit takes any other text for 7B; the caller is told that it did."""
        assert parameter_count(sized(None, text)) == (7.0, False)

    @pytest.mark.parametrize(
        ("name", "billions"),
        [
            ("acme/Net-70B-NVFP4", 70.0),
            ("acme/Net-70B-A3B-w4a16", 70.0),
            ("acme/net-1_5b-x-gptq", 1.5),
            ("acme/Net-70B-x", 1.0),
            ("acme/NetA70B-AWQ", 1.0),
            ("acme/Scout-17B-16E-AWQ", 1.0),
            ("acme/Net-1.3B-AWQ", 1.0),
            ("acme/Net-70B-AWQ-EAGLE3", 1.0),
            ("awq/Net-8B-70B", 70.0),
        ],
    )
    def test_a_packed_name_is_believed_over_a_low_count(self, name: str, billions: float) -> None:
        """Packed files count low: a size in the name that is above 4/3 of the count holds."""
        assert parameter_count(sized(10**9, name=name)).billions == billions

    def test_an_unknown_quantization_has_a_size(self) -> None:
        """llmfit never refuses one: 0.58 bytes per parameter."""
        assert bytes_per_parameter("nonsense") == bytes_per_parameter("q8_0") == 0.58
        assert bytes_per_parameter("UD-Q6_K_XL") == 0.80


class TestNames:
    def test_names_follow_spec_000(self) -> None:
        """Lower case, runs of other characters as one dash, 48 characters, then -fit."""
        assert claim_name("Llama-2-7B-Chat") == "llama-2-7b-chat-fit"
        assert claim_name("Qwen2.5 32B Instruct") == "qwen2-5-32b-instruct-fit"
        assert claim_name("--a__b--") == "a-b-fit"
        assert claim_name("x" * 60) == "x" * 48 + "-fit"
        assert claim_name("x" * 47 + "-yz") == "x" * 47 + "-fit"
        assert claim_name("Ünïcode-7B") == "n-code-7b-fit"

    def test_a_name_without_letters_is_refused(self) -> None:
        """llmfit prints the object name "-fit", which Kubernetes refuses."""
        model = LLAMA_2._replace(name="模型")

        assert claim_name(model.name) == "-fit"
        with pytest.raises(UsageError, match="LLM006"):
            render(model, ClaimTarget())
        assert "  name: mine\n" in render(model, ClaimTarget(name="mine"))

    @pytest.mark.parametrize(
        "name",
        [
            "",
            "Not A Valid Name!",
            "x" * 254,
            "a: b\n  evil: yes",
            "-a",
            "a-",
            "a..b",
            ".a",
            "ä",
            "a_b",
        ],
    )
    @pytest.mark.parametrize("render_", [render, lambda *a: render_json(*a, "1.1.17")])
    def test_no_name_that_kubernetes_refuses_is_written(self, name: str, render_) -> None:
        """llmfit writes both raw, so that a name can add keys to the manifest."""
        with pytest.raises(UsageError, match="LLM006"):
            render_(LLAMA_2, ClaimTarget(name=name))
        with pytest.raises(UsageError, match="LLM007"):
            render_(LLAMA_2, ClaimTarget(device_class=name))

    @pytest.mark.parametrize(
        "name", ["123", "1.5", "1e3", "1e-3", "0x1f", "0b1", "true", "no", "null"]
    )
    def test_a_name_that_yaml_reads_as_no_string_is_quoted(self, name: str) -> None:
        """llmfit writes them bare; the API server then finds a number or a boolean."""
        text = render(LLAMA_2, ClaimTarget(name=name, device_class=name))

        assert f'  name: "{name}"\n' in text
        assert f'deviceClassName: "{name}"\n' in text

    @pytest.mark.parametrize(
        "name", ["7b", "1st-claim", "2024-01-01", "1.2.3", "e3", "0xg", "nope"]
    )
    def test_other_names_stay_bare(self, name: str) -> None:
        """Anything that is a string without quotes is written as llmfit writes it."""
        assert f"  name: {name}\n" in render(LLAMA_2, ClaimTarget(name=name))

    @pytest.mark.parametrize(
        "text", ["a\nkind: Pod", "a\rb", "a\x00", "a\x7f", "a\x85b", "a\u2028b", "\ufeff"]
    )
    def test_text_cannot_leave_its_comment(self, text: str) -> None:
        """Names and quantizations stand in comments, where a line break would start YAML."""
        with pytest.raises(ModelError, match="LLM009"):
            render(LLAMA_2._replace(name=text), ClaimTarget(name="a"))
        with pytest.raises(ModelError, match="LLM009"):
            render(LLAMA_2._replace(quantization=text), ClaimTarget())
        with pytest.raises(UsageError, match="LLM008"):
            render(LLAMA_2, ClaimTarget(quant=text))


def test_the_manifest_of_the_worked_example() -> None:
    """Spec 000's manifest, with the bandwidth and the weights that its formulas give."""
    assert render(LLAMA_2, ClaimTarget(min_tps=30.0, efficiency_pct=60)) == (
        "# Generated by llmfit claim — do not compute these constants by hand.\n"
        "# model:  Llama-2-7B-Chat (7.0B params, Q4_K_M ≈ 4.1 GB weights)\n"
        "# fit:    tok/s ≈ bandwidth × 60% / 4.1 GB  ⇒  bandwidth ≥ 203 GB/s for ≥ 30 tok/s\n"
        "# memory: ≥ 6 Gi (weights + KV/runtime headroom)\n"
        "apiVersion: resource.k8s.io/v1\n"
        "kind: ResourceClaim\n"
        "metadata:\n"
        "  name: llama-2-7b-chat-fit\n"
        "spec:\n"
        "  devices:\n"
        "    requests:\n"
        "      - name: model\n"
        "        exactly:\n"
        "          deviceClassName: llmfit.ai\n"
        "          selectors:\n"
        "            - cel:\n"
        "                expression: >-\n"
        "                  'memory' in device.capacity['llmfit.ai'] &&\n"
        "                  device.capacity['llmfit.ai'].memory.compareTo(quantity('6Gi')) >= 0 &&\n"
        "                  'memoryBandwidthGBs' in device.attributes['llmfit.ai'] &&\n"
        "                  device.attributes['llmfit.ai'].memoryBandwidthGBs >= 203 &&\n"
        "                  'healthy' in device.attributes['llmfit.ai'] &&\n"
        "                  device.attributes['llmfit.ai'].healthy\n"
    )


def test_a_template_holds_the_same_spec_one_level_down() -> None:
    """Kind, and one more ``spec:`` around the devices."""
    lines = render(LLAMA_2, ClaimTarget(template=True)).splitlines()
    claim = render(LLAMA_2, ClaimTarget()).splitlines()

    assert lines[5] == "kind: ResourceClaimTemplate"
    assert lines[8:10] == ["spec:", "  spec:"]
    assert lines[10:] == [f"  {line}" for line in claim[9:]]


def test_the_json_of_the_worked_example() -> None:
    """Spec 000's object, keys in llmfit's (alphabetical) order, weights to one decimal."""
    text = render_json(LLAMA_2, ClaimTarget(min_tps=30.0, efficiency_pct=60), "0.3.1")

    assert list(json.loads(text).items()) == [
        ("claimName", "llama-2-7b-chat-fit"),
        ("deviceClass", "llmfit.ai"),
        ("efficiencyPct", 60),
        ("memoryGi", 6),
        ("minBandwidthGBs", 203),
        ("minTps", 30.0),
        ("model", "Llama-2-7B-Chat"),
        ("quant", "Q4_K_M"),
        ("resolverVersion", "0.3.1"),
        ("weightsGb", 4.1),
    ]
    assert text.startswith('{\n  "claimName": "llama-2-7b-chat-fit",\n')
    assert text.endswith('\n  "weightsGb": 4.1\n}')


def test_bounds_compare_by_value() -> None:
    """The Python API returns plain values."""
    model = sized(10**9)._replace(quantization="F16", min_vram_gb=1.0)

    # 1 x 2.0 = 2.0 GB; 20 x 2 x 100 / 50 = 80
    assert fit_bounds(model, ClaimTarget(efficiency_pct=50)) == FitBounds(2, 80, 2.0, "F16")
