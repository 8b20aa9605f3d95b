"""Tables, figures and a page to browse episodes in: ``python -m benchmarks.report run=FOLDER [run2=OTHER]``.

Reads episodes and what lies beside them, and asks nobody. Writes ``report/`` into the folder: ``index.html``, one file to be
opened in a browser; ``report.md`` and ``tables/*.csv``; ``figures/*.png``. The same episodes give the same bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig
from rich.console import Console

from agents.runs import fix_spelling, freeze, plain, plain_errors, run_dir
from benchmarks.reporting.bundle import Bundle, write_report
from benchmarks.reporting.run import read_runs
from benchmarks.savanna.tables import MINIWEB_NOTE


@hydra.main(version_base="1.3", config_path="../conf", config_name="report")
def main(composed: DictConfig) -> None:
    """Composes the report and writes it."""
    with plain_errors():
        config = plain(composed)
        freeze(config, run_dir())
        folders = [Path(config[name]) for name in ("run", "run2") if config[name] is not None]
        runs = read_runs(folders, config)
        bundle = write_report(runs, Path(config["out"] or folders[0] / "report"), config)
        console = Console()
        if any(run.miniweb for run in runs):
            console.print(MINIWEB_NOTE)
        unfinished = [run.extent for run in runs if run.unfinished]
        for line in [*unfinished, *lines_of(bundle)]:
            console.print(line, markup=False)


def lines_of(bundle: Bundle) -> list[str]:
    """Says what was written, and what could not be."""
    where = "beside it, move them along" if bundle.beside else "inside"
    lines = [
        f"tables: {bundle.markdown}",
        f"page: {bundle.page} ({bundle.page_bytes / 1e6:.1f} MB; {bundle.pictures} pictures {where})",
    ]
    if bundle.missing:
        lines.append(f"{bundle.missing} pictures are not in images/ of the run, or damaged; the page leaves them empty")
    return lines


if __name__ == "__main__":
    sys.argv[1:] = fix_spelling(sys.argv[1:])
    main()
