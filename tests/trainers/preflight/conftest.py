"""Subjects of the preflight: a composed config and a small world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hydra
import pytest
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig

from agents.runs import plain
from trainers.checks.all import run_check
from trainers.checks.finding import Finding
from trainers.checks.subject import Subject

ROOT = Path(__file__).resolve().parents[3]
SMALL = ("env.world.events=60", "env.world.seed=3")

Make = Callable[..., Subject]
Check = Callable[..., Finding]


@pytest.fixture(autouse=True)
def _hydra(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    GlobalHydra.instance().clear()
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    # What the variable says is read once a process, perhaps before a conftest could set it.
    monkeypatch.setattr("trainers.checks.subject.is_offline_mode", lambda: True)
    with hydra.initialize_config_dir(version_base="1.3", config_dir=str(ROOT / "conf")):
        yield
    HydraConfig.instance().cfg = None


@pytest.fixture
def compose() -> Callable[..., dict[str, Any]]:
    """Composes a config: ``compose("grpo", "trainer.group=4")``."""

    def composed(kind: str, *overrides: str) -> dict[str, Any]:
        given = [*SMALL, *overrides]
        HydraConfig.instance().set_config(hydra.compose(kind, overrides=given, return_hydra_config=True))
        return plain(hydra.compose(kind, overrides=given))

    return composed


@pytest.fixture
def make(compose: Callable[..., dict[str, Any]], tmp_path: Path) -> Make:
    """Makes a subject: ``make("trainer.group=4", kind="grpo")``."""

    def made(*overrides: str, kind: str = "grpo") -> Subject:
        return Subject(compose(kind, *overrides), kind, tmp_path / "run")

    return made


@pytest.fixture
def check(make: Make) -> Check:
    """Runs one check of a composed run and returns its only finding: ``check("batch", "trainer.group=4")``."""

    def checked(name: str, *overrides: str, kind: str = "grpo") -> Finding:
        (found,) = run_check(name, make(*overrides, kind=kind))
        return found

    return checked
