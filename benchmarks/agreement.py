"""How far a judge agrees with people (Savanna, appendix F): ``python -m benchmarks.agreement human=FILE.csv run=FOLDER``.

Compares the verdicts in a folder of episodes with a CSV of human labels (`benchmarks.alignment.labels` says how it looks) and
prints percent agreement, Cohen's κ, agreement by class and confusions, with bootstrap 95 % intervals. What the judge left
unscored is counted apart and is no disagreement. ``template=FILE.csv`` writes the CSV to fill in instead; it does not show what
the judge said. Leaves ``agreement.json`` and ``disagreements.csv`` in the run directory.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import hydra
from omegaconf import DictConfig
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from agents.numbers import whole
from agents.runs import freeze, plain, plain_errors, run_dir
from benchmarks.alignment.agreement import Agreement, agreement
from benchmarks.alignment.judged import Judged, Said, judged
from benchmarks.alignment.labels import CLASSES, CONTEXT, IDENTITY, SEARCH, Key, read_labels, write_template
from benchmarks.intervals import Interval
from benchmarks.spreadsheet import guarded
from wildenv.episode import IMAGES, LatestEpisodes
from wildenv.errors import ConfigError
from wildenv.images import ImageStore

PAPER = {SEARCH: 98.0, IDENTITY: 98.0, CONTEXT: 94.5}
"""Percent agreement printed in Savanna's table 8, on 100 images, with the authors' judge and annotators."""

PAPER_NOTE = "The column 'paper' holds figures as printed in Savanna's table 8: another judge, other people, other pictures."


@dataclass(frozen=True, slots=True)
class Compared:
    """One judgment.

    Attributes:
        agreement: None if no item has both labels.
        unscored: Labelled items that the judge left unscored.
        unlabelled: Items the judge was asked about and the people did not label.
        absent: Labelled items of tasks or items that the run does not have.
        disagreements: Key, the people's label and the judge's.
    """

    agreement: Agreement | None
    unscored: int
    unlabelled: int
    absent: int
    disagreements: tuple[tuple[Key, str, str], ...]


@hydra.main(version_base="1.3", config_path="../conf", config_name="agreement")
def main(composed: DictConfig) -> None:
    """Composes the comparison and prints it, or writes a template."""
    with plain_errors():
        config = plain(composed)
        whole("seed", config["seed"], least=0)
        folder = Path(config["run"])
        found = judged(tqdm(LatestEpisodes(folder), desc="episodes", unit="episode"))
        console = Console()
        if config["template"] is not None:
            count = write_template(config["template"], template_rows(found, folder))
            console.print(f"{count} items to label: {config['template']}", markup=False, soft_wrap=True)
            return
        if config["human"] is None:
            raise ConfigError("human is not set; name a CSV of labels, or write one to fill in with template=FILE.csv")
        out = run_dir()
        freeze(config, out)
        compared = compare(read_labels(config["human"]), found, config["seed"])
        write(compared, found, out)
        for table in tables(compared):
            console.print(table)
        for note in notes(compared, found):
            console.print(note, markup=False)
        console.print(f"figures and disagreements: {out}", markup=False)


def compare(labels: Mapping[Key, str | None], found: Judged, seed: int = 0) -> dict[str, Compared]:
    """Compares what people and judges said.

    Args:
        labels: Of `read_labels`.
        found: Of `judged`.
        seed: Of the resampling.

    Raises:
        ConfigError: If not one label is of the run.
    """
    given = {_resolved(key, found): label for key, label in labels.items() if label is not None}
    if not any(key in found.said or found.left_open(key) for key in given):
        raise ConfigError("no label in human names an item of run that a judge was asked about; do the task ids belong together?")
    compared = {}
    for judgment, classes in CLASSES.items():
        mine = {key: label for key, label in given.items() if key[1] == judgment}
        both = sorted(key for key in mine if key in found.said)
        unscored = [key for key in mine if found.left_open(key)]
        touched = {key[:2] for key in mine}
        silent = [key for key in found.said if key[1] == judgment and key not in mine]
        silent += [key for key in found.unscored if key[1] == judgment and key[:2] not in touched]
        compared[judgment] = Compared(
            agreement=agreement([(key[0], mine[key], found.said[key].label) for key in both], classes, seed),
            unscored=len(unscored),
            unlabelled=len(silent),
            absent=len(mine) - len(both) - len(unscored),
            disagreements=tuple((key, mine[key], found.said[key].label) for key in both if mine[key] != found.said[key].label),
        )
    return compared


def template_rows(found: Judged, folder: Path) -> list[tuple[Key, str, str]]:
    """Returns the rows of a template: what is asked, and the files of the pictures relative to the folder.

    What the judge left unscored is among them, and nothing tells it apart.
    """
    store = ImageStore(folder / IMAGES)

    def files(said: Said) -> str:
        named = [(name, store.path(digest)) for name, digests in said.pictures.items() for digest in digests]
        return "; ".join(f"{name}: {path.relative_to(folder).as_posix()}" for name, path in named)

    return [(key, said.about, files(said)) for key, said in sorted({**found.unscored, **found.said}.items())]


def write(compared: Mapping[str, Compared], found: Judged, folder: Path) -> None:
    """Writes ``agreement.json`` and ``disagreements.csv``."""
    figures = {name: asdict(one) for name, one in compared.items()}
    for row in figures.values():
        del row["disagreements"]
    written = {"judges": sorted(found.judges), "judgments": figures, "paper": PAPER}
    (folder / "agreement.json").write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    with (folder / "disagreements.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("task_id", "judgment", "item", "human", "judge", "about", "judge_reason"))
        for one in compared.values():
            for key, people, judge in one.disagreements:
                said = found.said[key]
                writer.writerow(map(guarded, (*key, people, judge, said.about, said.reason)))


def tables(compared: Mapping[str, Compared]) -> list[Table]:
    """Returns the overview, then the confusions of each judgment."""
    overview = Table(title="agreement of the judge with people, % [95 % interval]")
    for name in ("judgment", "items", "agreement", "Cohen's κ", "unscored", "not labelled", "not in the run", "paper"):
        overview.add_column(name, justify="left" if name == "judgment" else "right")
    made = [overview]
    for judgment, one in compared.items():
        got = one.agreement
        found = ("0", "–", "–") if got is None else (str(got.percent.n), got.percent.percent(), _kappa(got.kappa))
        overview.add_row(judgment, *found, str(one.unscored), str(one.unlabelled), str(one.absent), f"paper: {PAPER[judgment]}")
        if got is not None:
            made.append(_confusion(judgment, got))
    return made


def notes(compared: Mapping[str, Compared], found: Judged) -> list[str]:
    """Returns what has to be said beside the tables."""
    made = [f"judges: {', '.join(sorted(found.judges))}", PAPER_NOTE]
    if found.others:
        made.append(f"not compared: verdicts of {', '.join(sorted(found.others))}")
    if any(one.agreement is not None and one.agreement.kappa is None for one in compared.values()):
        made.append("κ is not defined where both gave one and the same label to every item")
    return made


def _confusion(judgment: str, got: Agreement) -> Table:
    table = Table(title=f"{judgment}: people (rows) and judge (columns), {got.tasks} tasks")
    table.add_column("people")
    for name in got.classes:
        table.add_column(name, justify="right")
    table.add_column("agreement on this label", justify="right")
    for name, row in zip(got.classes, got.confusion, strict=True):
        share = got.by_class[name]
        table.add_row(name, *map(str, row), "–" if share is None else share.percent())
    return table


def _kappa(kappa: Interval | None) -> str:
    return "not defined" if kappa is None else f"{kappa.mean:.2f} [{kappa.low:.2f}, {kappa.high:.2f}]"


def _resolved(key: Key, found: Judged) -> Key:
    """Returns the key with the target's name where a label leaves it out and there is one target only."""
    task_id, judgment, item = key
    if judgment != IDENTITY or item:
        return key
    named = [other for other in found.said if other[:2] == (task_id, IDENTITY)]
    return named[0] if len(named) == 1 else key


if __name__ == "__main__":
    main()
