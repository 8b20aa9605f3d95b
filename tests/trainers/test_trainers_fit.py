from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents.checkpoint import Loaded
from tests.trainers.sample_rows import write_rows
from trainers.fit import fit_row, fit_rows, write_report
from wildenv.errors import ConfigError


def test_a_long_row_is_cut_behind_a_whole_assistant_turn(nano: Loaded, tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 1, searches=3)
    row = rows[0]
    whole = len(nano.encoder.encode(row.messages, row.tools, rows.images))
    for limit in range(whole, 60, -7):
        fitted = fit_row(0, row, rows.images, nano.encoder, limit, 1)
        if not fitted.kept:
            break
        assert fitted.tokens <= limit
        assert row.messages[fitted.kept - 1]["role"] == "assistant"
        longer = [n for n, m in enumerate(row.messages, 1) if m["role"] == "assistant" and n > fitted.kept]
        if longer:
            assert len(nano.encoder.encode(row.messages[: longer[0]], row.tools, rows.images)) > limit
    else:
        pytest.fail("no limit was small enough to drop the row")
    assert "dropped" in fitted.reason


def test_min_turns_and_last_turn_drop_instead_of_cutting(nano: Loaded, tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 1, searches=3)
    row = rows[0]
    limit = len(nano.encoder.encode(row.messages[:5], row.tools, rows.images))
    assert fit_row(0, row, rows.images, nano.encoder, limit, 2).kept == 5
    assert fit_row(0, row, rows.images, nano.encoder, limit, 3).kept == 0
    assert fit_row(0, row, rows.images, nano.encoder, limit, 1, "last").kept == 0


def test_too_many_drops_stop_the_run(nano: Loaded, tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 4)
    settings = {"max_length": 20, "min_turns": 1, "assistant_turns": "all", "max_dropped": 0.5}
    with pytest.raises(ConfigError, match=r"trainer\.max_length=20.*row-0"):
        fit_rows(rows, [0, 1, 2, 3], nano.encoder, settings, "training", 0, 1)
    fitted = fit_rows(rows, [0, 1, 2, 3], nano.encoder, settings | {"max_dropped": 1.0}, "training", 0, 1)
    counts = write_report(tmp_path / "fit.json", {"training": fitted})
    assert counts["training"]["dropped"] == 4
    assert len(json.loads((tmp_path / "fit.json").read_text())["touched"]["training"]) == 4
