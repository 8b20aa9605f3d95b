"""Comparing a model before and after training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from benchmarks.compare import agents_of, fingerprint, loss_line, read_run, title_of
from benchmarks.evaluate import kappa_of, of_miniweb
from benchmarks.savanna.scores import score
from wildenv.episode import Episode
from wildenv.errors import ConfigError

LOCAL = {"_target_": "agents.local.LocalPolicy", "name": "local", "generator": {"model": {}}}
TRAINED: dict[str, Any] = {"model": {"path": "package:llm", "gguf_file": "x.gguf"}, "agent": {"name": "lci"}}


def _players(run: Path) -> dict[str, Any]:
    return agents_of({"local": LOCAL, "direct_search": {"name": "direct_search"}}, TRAINED, run)


def test_untrained_is_what_the_run_built_or_started_from(tmp_path: Path) -> None:
    models = {name: player["generator"]["model"] for name, player in _players(tmp_path).items() if "generator" in player}
    assert models["untrained"] == TRAINED["model"]
    assert models["trained"] == {"path": str(tmp_path / "best"), "gguf_file": None}
    (tmp_path / "initial").mkdir()
    assert _players(tmp_path)["untrained"]["generator"]["model"]["path"] == str(tmp_path / "initial")


def test_other_weights_have_another_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "best").mkdir()
    weights = tmp_path / "best" / "model.safetensors"
    weights.write_bytes(b"first")
    before = fingerprint(_players(tmp_path)["trained"])
    assert fingerprint(_players(tmp_path)["trained"]) == before
    weights.write_bytes(b"second")
    assert fingerprint(_players(tmp_path)["trained"]) != before


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no config\.yaml in it"):
        read_run(tmp_path)


def test_the_loss_is_told_from_first_to_last(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"loss": [8.0, None, 2.0]}), tmp_path / "metrics.parquet")
    assert loss_line(tmp_path) == "loss on assistant tokens: 8.000 → 2.000 (25% of where it began)"


@pytest.mark.parametrize(
    ("web", "tasks", "miniweb"), [("miniweb", "a.jsonl", True), ("a.pack", "miniweb:test", True), ("a.pack", "a.jsonl", False)]
)
def test_miniweb_scores_are_told_apart(web: str, tasks: str, miniweb: bool) -> None:
    assert of_miniweb({"env": {"web": web}, "benchmark": {"tasks": tasks}}) is miniweb


def test_kappa_comes_from_a_file_or_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kappa.json"
    path.write_text('{"t1": 0.5}')
    kappa = kappa_of({"kappa": str(path)}, {})
    assert kappa is not None
    assert kappa("t1") == 0.5
    assert kappa_of({"kappa": None}, {}) is None
    with pytest.raises(ConfigError, match=r"benchmark\.kappa"):
        kappa_of({"kappa": str(tmp_path / "none.json")}, {})


def test_a_task_without_kappa_is_named(tmp_path: Path) -> None:
    path = tmp_path / "kappa.json"
    path.write_text('{"t1": 0.5}')
    kappa = kappa_of({"kappa": str(path)}, {})
    assert kappa is not None
    with pytest.raises(ConfigError, match="no κ for task 't2'"):
        kappa("t2")


def _played(*values: float | None) -> Any:
    fields: dict[str, Any] = {"task": {"id": "", "domain": "Sports"}, "web": "w", "seed": 0, "policy": "p", "tools": []}
    fields |= {"messages": [], "images": []}
    return score(
        [
            Episode(
                **{**fields, "task": {"id": f"t{number}", "domain": "Sports"}},
                answer={"prompt": "p", "references": []},
                rewards={"search": value},
                reward_valid=value is not None,
                end_reason="answered",
            )
            for number, value in enumerate(values)
        ]
    )


def test_the_title_claims_the_same_number_only_where_it_is_the_same() -> None:
    two, less, three = _played(1.0, 0.0), _played(1.0, None), _played(1.0, 1.0, 1.0)
    assert title_of("m", {"a": two, "b": two}) == "m: the same 2 tasks and seeds for each"
    assert title_of("m", {"a": two, "b": less}).endswith("for each; not as many are scored for each")
    unequal = title_of("m", {"a": two, "b": three})
    assert "same" not in unequal
    assert "a played 2, b played 3" in unequal
