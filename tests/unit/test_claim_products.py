"""Which accelerators a claim admits: memory to the MiB, namesakes told apart, near misses named."""

from __future__ import annotations

import pytest

from claimfit.claim.device_test import ProductTerm
from claimfit.claim.products import Candidate, judged, product_terms
from claimfit.hardware.accelerators import accelerators
from claimfit.sizing.plan import Parallelism
from support.claim_needs import board, need_for

ONE = Parallelism()


def by_memory(target: str, floor_mib: int) -> dict[str, Candidate]:
    """Return the verdicts of the table when only memory is asked for."""
    found = judged(need_for(target, min_tps=0.0), accelerators(), ONE, floor_mib, 0)
    return {item.accelerator.id: item for item in found}


def test_80_gi_leaves_out_every_h100_by_361_mi_and_says_so() -> None:
    """An "80 GB" H100 publishes 81559Mi (81920 - 81559 = 361); an A100 publishes 80Gi."""
    found = by_memory("gpu.nvidia.com", 81920)
    for name in ("nvidia-h100-sxm", "nvidia-h100-pcie"):
        assert not found[name].admitted
        assert found[name].near_miss
        assert found[name].text == "publishes 81559Mi, 361Mi short of 80Gi"
    assert found["nvidia-a100-sxm-80"].admitted
    assert by_memory("gpu.nvidia.com", 81559)["nvidia-h100-sxm"].admitted


def test_near_misses_end_at_three_percent() -> None:
    """81559 is 3.0 % short of 84081 (84081 - 81559 = 2522 <= 2522.43) and 3.01 % of 84091."""
    assert by_memory("gpu.nvidia.com", 84081)["nvidia-h100-sxm"].near_miss
    assert not by_memory("gpu.nvidia.com", 84091)["nvidia-h100-sxm"].near_miss


def test_partitions_are_offered_by_their_class_only() -> None:
    """A 1g.5gb slice publishes 4864Mi; boards and slices never mix in one NVIDIA class."""
    slices = by_memory("mig.nvidia.com", 4864)
    assert all(item.kind == "mig" for item in slices.values())
    assert slices["nvidia-a100-sxm-40-mig-1g.5gb"].admitted
    assert not by_memory("mig.nvidia.com", 4865)["nvidia-a100-sxm-40-mig-1g.5gb"].admitted
    assert all(item.kind == "gpu" for item in by_memory("gpu.nvidia.com", 1).values())


def test_a_board_without_published_memory_is_judged_by_what_is_known() -> None:
    """GB10 and Gaudi publish none; a GH200 144 GB publishes a figure that nobody wrote down."""
    found = by_memory("gpu.nvidia.com", 100_000)
    assert found["nvidia-gb10"].admitted
    assert found["nvidia-gb10"].silent
    assert found["nvidia-gb10"].memory_mib is None
    assert not found["nvidia-gh200-144"].silent
    gaudi = by_memory("gaudi.intel.com", 100_000)
    assert gaudi["intel-gaudi3"].silent
    assert gaudi["intel-gaudi3"].admitted
    assert gaudi["intel-gaudi2"].text.startswith("has 91552Mi")


def test_llmfit_ai_may_publish_boards_of_every_vendor_it_probes() -> None:
    """Its candidates are whole boards of NVIDIA, AMD and Intel, not slices and not Apple."""
    found = by_memory("llmfit.ai", 1)
    assert {item.accelerator.vendor for item in found.values()} == {"nvidia", "amd", "intel"}
    assert not any(item.accelerator.parent for item in found.values())


def test_an_unknown_bandwidth_admits_no_speed() -> None:
    """A board whose bandwidth is not known reaches no floor."""
    found = judged(need_for("gpu.nvidia.com"), [board("X", 40000, None)], ONE, 1, 0)
    assert found[0].reason == "unknown"


def test_published_bandwidth_decides_and_a_different_p10_is_marked() -> None:
    """Where bandwidth is asked for, the board's own speed only raises a doubt."""
    need = need_for("llmfit.ai", min_tps=1.0)
    slow, fast = board("Slow", 40000, 300.0), board("Fast", 40000, 900.0)
    found = judged(need, [slow, fast], ONE, 20000, 500)
    assert [item.admitted for item in found] == [False, True]
    assert found[0].doubtful
    assert found[0].text.startswith("300 of 500 GB/s, although its own p10 is ")


def verdict(
    name: str, memory: int | None, *, good: bool, product: str = "P", kind: str = "gpu"
) -> Candidate:
    """Return a judged candidate."""
    accelerator = board(name, memory, product=product, kind=kind, known_mib=120_000)
    reason = "admitted" if good else "speed"
    return Candidate(
        accelerator,
        kind,
        (product,),
        reason,  # type: ignore[arg-type]
        "",
        None,
        silent=memory is None,
    )


def terms_of(*candidates: Candidate) -> tuple[ProductTerm, ...]:
    """Return the terms for a floor of 4096 MiB."""
    return product_terms(candidates, 4096)[0]


def test_products_without_namesakes_share_one_term() -> None:
    """Names are sorted; no range is asked for."""
    assert terms_of(
        verdict("a", 8192, good=True, product="B"), verdict("b", 9000, good=True, product="A")
    ) == (ProductTerm(("A", "B")),)


def test_a_slower_smaller_namesake_is_cut_off_half_way() -> None:
    """RTX 3080: 10 GB is too slow, so memory from (10240 + 12288) / 2 = 11264 on is asked for."""
    small, large = verdict("10", 10240, good=False), verdict("12", 12288, good=True)
    assert terms_of(small, large) == (ProductTerm(("P",), at_least_mib=11264),)


def test_a_slower_larger_namesake_is_cut_off_from_above() -> None:
    """The range ends half-way to the larger one, (8192 + 12289) / 2 rounded up."""
    small, large = verdict("8", 8192, good=True), verdict("12", 12289, good=False)
    assert terms_of(small, large) == (ProductTerm(("P",), below_mib=10241),)


def test_namesakes_below_the_floor_need_no_range() -> None:
    """The memory floor keeps them out already."""
    small, large = verdict("2", 2048, good=False), verdict("12", 12288, good=True)
    assert terms_of(small, large) == (ProductTerm(("P",)),)


def test_ranges_of_one_product_are_joined() -> None:
    """Three slices of a board are one range, cut off from the slow one: (1000+3000)/2 = 2000."""
    slices = [verdict(str(mib), mib, good=mib > 5000) for mib in (5000, 7000, 9000, 11000)]
    assert terms_of(*slices) == (ProductTerm(("P",), at_least_mib=6000),)


def test_a_good_slice_between_two_bad_ones_keeps_its_own_range() -> None:
    """Nothing slower is let in on either side."""
    slices = [verdict(str(mib), mib, good=mib == 8000) for mib in (6000, 8000, 10000)]
    assert terms_of(*slices) == (ProductTerm(("P",), at_least_mib=7000, below_mib=9000),)


def test_a_namesake_of_the_same_size_takes_the_product_out() -> None:
    """1g.20gb and 2g.20gb publish the same memory: neither may be given if one is too slow."""
    slow, fast = verdict("1g", 20096, good=False), verdict("2g", 20096, good=True)
    terms, judged_again = product_terms([slow, fast], 4096)
    assert terms == ()
    assert judged_again[1].reason == "namesake"
    assert judged_again[1].text == "is published like 1g, which is too slow"


def test_kinds_tell_namesakes_of_the_same_size_apart() -> None:
    """A board and its only partition differ in type."""
    whole = verdict("whole", 20000, good=True, kind="amdgpu")
    part = verdict("part", 20000, good=False, kind="amdgpu-partition")
    assert terms_of(whole, part) == (ProductTerm(("P",), "amdgpu"),)


def test_a_silent_product_is_a_term_of_its_own() -> None:
    """Its name is all there is, so a slower namesake takes it out."""
    silent = verdict("gb10", None, good=True, product="G")
    assert terms_of(verdict("a", 8192, good=True), silent) == (
        ProductTerm(("P",)),
        ProductTerm(("G",), has_memory=False),
    )
    assert terms_of(silent, verdict("other", 8192, good=False, product="G")) == ()


@pytest.mark.parametrize("target", ["gpu.nvidia.com", "mig.nvidia.com", "gpu.amd.com"])
def test_terms_admit_exactly_the_admitted_of_the_table(target: str) -> None:
    """Over many speeds: a device of the table passes a term exactly if it was admitted."""
    for min_tps in (5.0, 20.0, 60.0, 150.0):
        need = need_for(target, min_tps=min_tps)
        floor = 18_000
        terms, found = product_terms(judged(need, accelerators(), ONE, floor, 0), floor)
        for item in found:
            passes = any(
                set(item.products) & set(term.products)
                and term.kind in {"", item.kind}
                and term.has_memory != item.silent
                and (item.memory_mib or 0) >= (0 if item.silent else max(floor, term.at_least_mib))
                and (not term.below_mib or (item.memory_mib or 0) < term.below_mib)
                for term in terms
            )
            assert passes == item.admitted, (item.accelerator.id, min_tps)
