"""What a training run changed: ``python -m benchmarks.compare run=outputs/sft/ranger``.

Plays the same tasks with the same seeds by the model before and after training, the teacher, and direct search, and prints
one table, with the fall of the loss on assistant tokens above it. The table reports what was measured; it does not say why.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import hydra
import pyarrow.parquet as parquet
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from agents.runs import FROZEN, Config, fix_spelling, freeze, plain, plain_errors, run_dir
from benchmarks.evaluate import kappa_of, play_all
from benchmarks.savanna.scores import Scores, score
from benchmarks.savanna.tables import MINIWEB_NOTE, comparison_table
from wildenv.errors import ConfigError
from wildenv.registration import MINIWEB

TABLE = "comparison.json"


@hydra.main(version_base="1.3", config_path="../conf", config_name="compare")
def main(composed: DictConfig) -> None:
    """Composes the comparison, rolls and prints."""
    with plain_errors():
        config = plain(composed)
        run = Path(config["run"])
        trained = read_run(run)
        config["env"] = trained["env"]
        freeze(config, run_dir())
        players = agents_of(config, trained, run)
        kappa = kappa_of(config["benchmark"], config["env"])
        scores: dict[str, Scores] = {}
        for name, agent in players.items():
            scores[name] = score(play_all(config, run / "comparison" / name, agent), kappa)
        table = {name: asdict(found) for name, found in scores.items()}
        (run / TABLE).write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        console = Console()
        console.print(loss_line(run))
        title = f"{config['benchmark']['tasks']}: the same {config['benchmark']['limit']} tasks and seeds for each"
        console.print(comparison_table(scores, "untrained", title))
        if config["env"]["web"] == MINIWEB:
            console.print(MINIWEB_NOTE)


def read_run(run: Path) -> Config:
    """Reads the config a training run wrote.

    Raises:
        ConfigError: If the folder is no finished training run.
    """
    for needed in (FROZEN, "initial", "best", "metrics.parquet"):
        if not (run / needed).exists():
            raise ConfigError(
                f"run={run}: there is no {needed} in it; name the directory of a finished `python -m trainers.sft` run"
            )
    loaded = OmegaConf.load(run / FROZEN)
    assert isinstance(loaded, DictConfig)
    return plain(loaded)


def agents_of(config: Config, trained: Config, run: Path) -> dict[str, Config]:
    """Returns the agents to compare, by name, as ``conf/agent`` entries."""
    local = config["local"]
    players = {}
    for name, folder in (("untrained", "initial"), ("trained", "best")):
        model = {**trained["model"], "path": str(run / folder)}
        players[name] = {**local, "name": name, "generator": {**local["generator"], "model": model}}
    players["teacher"] = {**trained["agent"], "name": "teacher"}
    players["direct_search"] = config["direct_search"]
    return players


def loss_line(run: Path) -> str:
    """Says how the loss on assistant tokens changed over the run."""
    columns: dict[str, list[Any]] = parquet.read_table(run / "metrics.parquet").to_pydict()
    losses = [value for value in columns["loss"] if value is not None]
    return f"loss on assistant tokens: {losses[0]:.3f} → {losses[-1]:.3f} ({losses[-1] / losses[0]:.0%} of where it began)"


if __name__ == "__main__":
    sys.argv[1:] = fix_spelling(sys.argv[1:])
    main()
