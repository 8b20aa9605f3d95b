"""What a training run changed: ``python -m benchmarks.compare run=outputs/sft/ranger``.

Plays the same tasks with the same seeds by the model before and after training, the teacher, and direct search, and prints
one table, with the fall of the loss on assistant tokens above it. The table reports what was measured; it does not say why.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import hydra
import pyarrow.parquet as parquet
from omegaconf import DictConfig
from rich.console import Console

from agents.runs import FROZEN, Config, fix_spelling, freeze, plain, plain_errors, read_frozen, run_dir
from benchmarks.evaluate import kappa_of, of_miniweb, play_all
from benchmarks.savanna.scores import Scores, score
from benchmarks.savanna.tables import MINIWEB_NOTE, comparison_table
from wildenv.errors import ConfigError

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
            scores[name] = score(play_all(config, run / "comparison" / f"{name}-{fingerprint(agent)}", agent), kappa)
        table = {name: asdict(found) for name, found in scores.items()}
        (run / TABLE).write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        console = Console()
        console.print(loss_line(run))
        console.print(comparison_table(scores, "untrained", title_of(config["benchmark"]["tasks"], scores)))
        if of_miniweb(config):
            console.print(MINIWEB_NOTE)


def title_of(tasks: str, scores: Mapping[str, Scores]) -> str:
    """Says what was played, and whether it was as much by each; unscored episodes are in no score."""
    counts = {name: found.episodes for name, found in scores.items()}
    if len(set(counts.values())) > 1:
        return f"{tasks}, unequal: " + ", ".join(f"{name} played {count}" for name, count in counts.items())
    scored = {0 if found.search is None else found.search.n for found in scores.values()}
    same = "" if len(scored) == 1 else "; not as many are scored for each"
    return f"{tasks}: the same {next(iter(counts.values()))} tasks and seeds for each{same}"


def read_run(run: Path) -> Config:
    """Reads the config a training run wrote.

    Raises:
        ConfigError: If the folder is no finished training run.
    """
    for needed in (FROZEN, "best", "metrics.parquet"):
        if not (run / needed).exists():
            raise ConfigError(f"run={run}: there is no {needed} in it; name the directory of a finished trainers.sft run")
    return read_frozen(run / FROZEN)


def agents_of(config: Config, trained: Config, run: Path) -> dict[str, Config]:
    """Returns the agents to compare, by name, as ``conf/agent`` entries; untrained is what the run started from."""
    local, model = config["local"], trained["model"]
    start = {**model, "path": str(run / "initial")} if (run / "initial").exists() else model
    # What a run saves is a plain folder, whatever file its model was read from.
    end = {**model, "path": str(run / "best"), "gguf_file": None}
    players = {
        name: {**local, "name": name, "generator": {**local["generator"], "model": chosen}}
        for name, chosen in (("untrained", start), ("trained", end))
    }
    players["teacher"] = {**trained["agent"], "name": "teacher"}
    players["direct_search"] = config["direct_search"]
    return players


def fingerprint(agent: Config) -> str:
    """Returns a short digest of an agent: of its settings and, for a checkpoint folder, of its weights."""
    digest = hashlib.sha256(json.dumps(agent, sort_keys=True, default=str).encode())
    path = agent.get("generator", {}).get("model", {}).get("path")
    for file in sorted(Path(path).glob("*.safetensors")) if path else []:
        with file.open("rb") as weights:
            digest.update(hashlib.file_digest(weights, "sha256").digest())
    return digest.hexdigest()[:10]


def loss_line(run: Path) -> str:
    """Says how the loss on assistant tokens changed over the run."""
    columns: dict[str, list[Any]] = parquet.read_table(run / "metrics.parquet").to_pydict()
    losses = [value for value in columns["loss"] if value is not None]
    return f"loss on assistant tokens: {losses[0]:.3f} → {losses[-1]:.3f} ({losses[-1] / losses[0]:.0%} of where it began)"


if __name__ == "__main__":
    sys.argv[1:] = fix_spelling(sys.argv[1:])
    main()
