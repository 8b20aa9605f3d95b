"""Does a date cutoff stand in for the web shortly after an event? ``python -m benchmarks.cutoff_study``.

Repeats the design of the paper's table 7 (Savanna, appendix E): Hit@8 of one fixed image query a target, within a day of its
release, after three and seven days, and after seven days with the three-day cutoff. Without packs it simulates the web of each
day on the miniweb. Leaves ``table.md``, ``table.csv`` and ``hits.csv`` in the run directory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import hydra
from omegaconf import DictConfig
from rich.console import Console

from agents.numbers import whole
from agents.runs import Config, freeze, plain, plain_errors, run_dir
from benchmarks.studies.cutoff_table import csv_text, headings, markdown, notes, rows, terminal_table
from benchmarks.studies.hit_rate import HitRates, hit_rates
from benchmarks.studies.recorded import RecordedWebs, read_labels, read_queries, write_requests
from benchmarks.studies.simulated import SimulatedWeb, draw_queries
from wildenv.errors import ConfigError
from wildenv.registration import make_tasks, miniworld, world_config


@dataclass(frozen=True, slots=True)
class Study:
    """A finished study."""

    rates: HitRates
    title: str
    notes: list[str]


@hydra.main(version_base="1.3", config_path="../conf", config_name="cutoff_study")
def main(composed: DictConfig) -> None:
    """Composes the study, runs and prints it."""
    with plain_errors():
        config = plain(composed)
        whole("seed", config["seed"], least=0)
        for name in ("k", "limit", "repetitions"):
            whole(name, config[name])
        console = Console()
        if config["requests"] is not None:
            for path in write_requests(read_queries(_needed(config, "queries")), config["requests"], config["k"]):
                console.print(f"wildenv record --requests {path}", markup=False, soft_wrap=True)
            return
        folder = run_dir()
        freeze(config, folder)
        study = simulated(config) if config["packs"] is None else recorded(config)
        write(study, folder, config["seed"])
        console.print(terminal_table(study.rates, config["seed"], study.title))
        for note in study.notes:
            console.print(note, markup=False)
        console.print(f"tables: {folder}")


def simulated(config: Config) -> Study:
    """Runs the study on the miniweb."""
    world = miniworld(world_config(config["world"]))
    queries = draw_queries(world, make_tasks(config["tasks"], config["world"]), config["limit"], config["words"], config["seed"])
    web, repetitions = SimulatedWeb(world, config["undated"]), config["repetitions"]
    rates = hit_rates(queries, web.web, web.shows, lambda _: repetitions, config["k"])
    title = f"Cutoff study on {config['tasks']}, queries by {config['words']}"
    return Study(rates, title, notes(True, config["undated"]))


def recorded(config: Config) -> Study:
    """Runs the study on packs."""
    queries = read_queries(_needed(config, "queries"))
    webs = RecordedWebs(config["packs"], read_labels(_needed(config, "labels"), queries), config["undated"])
    rates = hit_rates(queries, webs.web, webs.shows, webs.repetitions, config["k"])
    return Study(rates, f"Cutoff study on {Path(config['queries']).name}", notes(False, config["undated"]))


def write(study: Study, folder: Path, seed: int) -> None:
    """Writes the tables of a study, and every single result."""
    rates = study.rates
    (folder / "table.md").write_text(markdown(rates, seed, study.title, study.notes), encoding="utf-8")
    (folder / "table.csv").write_text(csv_text(headings(rates), rows(rates, seed)), encoding="utf-8")
    single = rates.rows()
    (folder / "hits.csv").write_text(csv_text(list(single[0]), [list(row.values()) for row in single]), encoding="utf-8")


def _needed(config: Config, name: str) -> str:
    if config[name] is None:
        raise ConfigError(f"{name} is not set; name the JSONL file, see conf/cutoff_study.yaml")
    return str(config[name])


if __name__ == "__main__":
    main()
