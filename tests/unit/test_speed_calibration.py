"""What measurements of one device change: factors, spread, outliers; and their file."""

from __future__ import annotations

import json
import math

import pytest

from claimfit.errors import InputError
from claimfit.sizing.calibration import (
    SCHEMA,
    Calibration,
    Observation,
    correction,
    dump_calibration,
    load_calibration,
)
from claimfit.sizing.plan import EngineChoice, Parallelism
from claimfit.sizing.speed import step_terms
from support.speed_devices import ROUND, STEP, device

CARD = device()
VLLM = EngineChoice("vllm")


def observation(number: int = 1, *, fixed: float = 1.0, transfer: float = 1.0) -> Observation:
    """Return a row of a model of `number` x 100 MB in 32 layers, slower by the two factors."""
    step = STEP._replace(dense_bytes=number * 10**8, expert_bytes=0, expert_layers=0)
    terms = dict(step_terms(step, ROUND, CARD, Parallelism()))
    time = fixed * terms.pop("fixed") + transfer * sum(terms.values())
    return Observation(
        device=CARD.id,
        engine="vllm",
        engine_version="",
        model=f"example/model-{number}",
        quantization="BF16",
        context_tokens=100 * number,
        concurrency=1,
        tensor=1,
        tokens_per_second=1000 / time,
        traffic=step,
        source=f"bench.json row {number}",
    )


def test_rows_as_predicted_correct_nothing() -> None:
    """Both factors stay 1 and the spread is below that of strangers."""
    found = correction(ROUND, CARD, [observation(n) for n in range(1, 7)])

    assert (found.fixed, found.transfer) == (pytest.approx(1.0), pytest.approx(1.0))
    assert found.spread < 0.1
    assert found.rows == 6


def test_many_rows_recover_both_factors() -> None:
    """Models of 0.1 to 16 GB tell twice the fixed time from 1.5 times the transfer time."""
    sizes = [1, 2, 5, 10, 20, 40, 80, 160] * 5
    rows = [
        observation(n, fixed=2.0, transfer=1.5)._replace(context_tokens=i)
        for i, n in enumerate(sizes)
    ]
    found = correction(ROUND, CARD, rows)

    assert found.transfer == pytest.approx(1.5, rel=0.05)
    assert found.fixed == pytest.approx(2.0, rel=0.05)


def test_few_rows_stay_near_the_prior() -> None:
    """One row twice as slow moves the prediction part of the way; thirty move it nearly there."""
    slow = observation(40, fixed=2, transfer=2)

    def moved(rows: int) -> float:
        found = correction(ROUND, CARD, [slow] * rows)
        terms = dict(step_terms(slow.traffic, ROUND, CARD, Parallelism()))
        fixed = terms.pop("fixed")
        before = fixed + sum(terms.values())
        return (found.fixed * fixed + found.transfer * sum(terms.values())) / before

    assert 1.2 < moved(1) < moved(5) < moved(30) < 2.0
    assert moved(30) == pytest.approx(2.0, rel=0.05)


def test_one_wild_row_among_many_is_an_outlier() -> None:
    """A row ten times too fast neither moves the factors nor widens the interval."""
    rows = [observation(n) for n in range(1, 9)]
    wild = rows[3]._replace(tokens_per_second=10 * rows[3].tokens_per_second)
    found = correction(ROUND, CARD, [*rows, wild])

    assert found.outliers == (8,)
    assert found.rows == 8
    assert found.transfer == pytest.approx(1.0, abs=0.05)
    assert found.spread < 0.12


def test_adjust_scales_times_and_efficiencies() -> None:
    """Coefficients of the device change by the factors; three rows make them measured."""
    rows = tuple(observation(n, fixed=2.0, transfer=1.5) for n in (1, 5, 20, 40))
    found = correction(ROUND, CARD, rows)
    adjusted = Calibration(rows).adjust(ROUND._replace(basis="family"), CARD, VLLM)

    assert adjusted.layer_us == pytest.approx(ROUND.layer_us * found.fixed)
    assert adjusted.efficiency == pytest.approx(ROUND.efficiency / found.transfer)
    # Arithmetic is part of the time that scales: what exceeds the reads would shrink otherwise.
    assert adjusted.compute_efficiency == pytest.approx(ROUND.compute_efficiency / found.transfer)
    assert adjusted.spread(experts=True) == (adjusted.low, adjusted.high)
    assert adjusted.basis == "measured"
    assert adjusted.low == pytest.approx(math.exp(-1.2816 * found.spread))
    assert adjusted.low * adjusted.high == pytest.approx(1.0)


def test_two_rows_narrow_and_do_not_claim_to_measure() -> None:
    """Two anchors help, but the basis stays what it was and the interval never widens."""
    rows = (observation(1), observation(5))
    adjusted = Calibration(rows).adjust(ROUND._replace(basis="family"), CARD, VLLM)

    assert adjusted.basis == "family"
    assert adjusted.low >= ROUND.low
    assert adjusted.high <= ROUND.high


def test_measurements_touch_only_their_device_and_engine() -> None:
    """Another device and another engine keep their coefficients."""
    known = Calibration((observation(1, transfer=2.0),))

    assert known.adjust(ROUND, device("other-card"), VLLM) == ROUND
    assert known.adjust(ROUND, CARD, EngineChoice("llama.cpp")) == ROUND


def test_merging_replaces_the_same_measurement() -> None:
    """Calibrating again with a new run of the same benchmark keeps one row."""
    first = Calibration().merged([observation(1), observation(2)])
    again = first.merged([observation(2)._replace(tokens_per_second=99.0)])

    assert len(again.observations) == 2
    assert again.observations[1].tokens_per_second == 99.0
    assert again.without(CARD.id) == Calibration()


def test_the_file_reads_back_and_is_the_same_bytes() -> None:
    """Dump, load, dump: the same text, whatever the order of the rows."""
    rows = [observation(n) for n in (3, 1, 2)]
    text = dump_calibration(Calibration(tuple(rows)))
    loaded = load_calibration(text, "file")

    assert sorted(loaded.observations) == sorted(rows)
    assert dump_calibration(loaded) == text
    assert json.loads(dump_calibration(Calibration())) == {
        "schemaVersion": SCHEMA,
        "observations": [],
    }


def broken(path: str, value: object) -> str:
    """Return a calibration file with one value replaced."""
    document = json.loads(dump_calibration(Calibration((observation(),))))
    row = document["observations"][0]
    *parents, last = path.split(".")
    for parent in parents:
        row = row[parent]
    row[last] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "CAL002"),
        ("not json", "CAL002"),
        ("[" * 100_000, "CAL002"),
        ('{"schemaVersion": NaN}', "CAL002"),
        ("1" * 5000, "CAL002"),
        ("[]", "CAL003"),
        ("{}", "CAL003"),
        ('{"schemaVersion": "claimfit.dev/calibration/v9"}', "CAL003"),
        (f'{{"schemaVersion": "{SCHEMA}"}}', "CAL004"),
        (f'{{"schemaVersion": "{SCHEMA}", "observations": [7]}}', "CAL004"),
        (broken("device", ""), "CAL004"),
        (broken("device", 7), "CAL004"),
        (broken("tokens_per_second", 0), "CAL004"),
        (broken("tokens_per_second", "fast"), "CAL004"),
        (broken("tokens_per_second", bool(1)), "CAL004"),
        (broken("concurrency", 10**400), "CAL004"),
        (broken("traffic", []), "CAL004"),
        (broken("traffic.layers", 0), "CAL004"),
        (broken("traffic.cache_bytes", -1), "CAL004"),
        (broken("traffic.dense_bytes", None), "CAL004"),
    ],
)
def test_hostile_files_are_refused(text: str, code: str) -> None:
    """Broken JSON, bombs, other schemas and wrong values are coded errors with a place."""
    with pytest.raises(InputError) as caught:
        load_calibration(text, "calibration.json")
    assert caught.value.code == code
    assert caught.value.place.startswith("calibration.json")


def test_a_file_beyond_16_mib_is_not_parsed() -> None:
    """The size is refused before anything is read."""
    with pytest.raises(InputError) as caught:
        load_calibration(" " * (16 * 1024 * 1024 + 1), "calibration.json")
    assert caught.value.code == "CAL002"
