"""Bootstrap intervals."""

from __future__ import annotations

import pytest

from benchmarks.intervals import bootstrap, paired


def test_the_interval_holds_the_mean_and_narrows_with_more_values() -> None:
    few, many = bootstrap([0.0, 1.0] * 10), bootstrap([0.0, 1.0] * 500)
    assert few is not None
    assert many is not None
    assert few.mean == many.mean == 0.5
    assert few.low < 0.5 < few.high
    assert many.high - many.low < few.high - few.low


def test_it_covers_about_95_percent_of_a_known_normal_error() -> None:
    found = bootstrap([0.0] * 300 + [1.0] * 100)
    assert found is not None
    half = 1.96 * (0.25 * 0.75 / 400) ** 0.5
    assert found.low == pytest.approx(0.25 - half, abs=0.01)
    assert found.high == pytest.approx(0.25 + half, abs=0.01)


def test_constant_values_have_no_width() -> None:
    found = bootstrap([1.0, 1.0, 1.0])
    assert found is not None
    assert (found.low, found.high) == (1.0, 1.0)
    assert found.percent() == "100.0 [100.0, 100.0]"


def test_no_values_no_interval() -> None:
    assert bootstrap([]) is None
    assert paired({"a": 1.0}, {"b": 1.0}) is None


def test_pairs_are_matched_by_key_and_cancel_what_is_common() -> None:
    first = {f"t{i}": float(i % 2) for i in range(100)}
    difference = paired(first, dict(first))
    assert difference is not None
    assert (difference.mean, difference.low, difference.high) == (0.0, 0.0, 0.0)


def test_the_seed_decides() -> None:
    values = [0.0, 1.0, 1.0, 0.0, 1.0]
    assert bootstrap(values, seed=1) == bootstrap(values, seed=1)
