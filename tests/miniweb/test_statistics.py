from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from wildenv.miniweb import author
from wildenv.miniweb.config import WorldConfig
from wildenv.miniweb.statistics import DESCRIPTIONS, main, world_statistics
from wildenv.miniweb.world import MiniWorld

SMALL = WorldConfig(events=160)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves the ground truth undrawn, which no statistic looks at."""
    from PIL import Image

    monkeypatch.setattr(author, "draw_truth", lambda look, seed: Image.new("RGB", (8, 8)))


def test_figures_are_shares_and_kappa_agrees_with_the_world(small_world: MiniWorld) -> None:
    figures = world_statistics(small_world, "train", 30)
    assert set(figures) == set(DESCRIPTIONS)
    assert figures["tasks"] == 30
    assert all(0 <= value <= 1 for name, value in figures.items() if name != "tasks")
    kappas = [small_world.kappa(task.id) for task in list(small_world.tasks("train"))[:30]]
    assert figures["kappa"] == pytest.approx(sum(kappas) / 30, abs=1e-3)
    assert figures["kappa_at_least_half"] >= 0.5


def test_kappa_counts_what_the_cutoff_leaves(small_world: MiniWorld) -> None:
    task = small_world.tasks("train")[5]
    _, event = small_world.event_of(task.id)
    hits = small_world.visible_pictures(small_world.direct_query(task.id), 8, task.cutoff)
    assert len(hits) == 8
    assert all(hit.published is None or hit.published <= task.cutoff.isoformat() for hit in hits)
    assert small_world.kappa(task.id) == sum(event.target not in hit.entities for hit in hits) / 8


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("knob", "figure"), [("novelty", "direct_misses"), ("crowding", "kappa"), ("entanglement", "entangled")])
def test_each_knob_moves_its_figure(knob: str, figure: str) -> None:
    low, high = (
        world_statistics(MiniWorld.generate(replace(SMALL, **{knob: value})), "train", 60)[figure] for value in (0.0, 1.0)
    )
    assert high > low + 0.15


@pytest.mark.usefixtures("quick")
def test_an_easy_world_is_easy() -> None:
    figures = world_statistics(MiniWorld.generate(replace(SMALL, novelty=0.0, crowding=0.0, entanglement=0.0)), "train", 60)
    assert figures["entangled"] == 0
    assert figures["direct_misses"] < 0.2


def test_the_table_names_every_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WILDENV_CACHE", str(tmp_path))
    main(["--events", "24", "--split", "train", "--n", "4"])
    printed = capsys.readouterr().out
    assert all(text in printed for text in DESCRIPTIONS.values())
