"""Resolves ``data=``: whatever the rows come from, a run trains on a row folder.

Episodes are filtered and conversations converted into one; a dataset is written out as one, because random access to a folder is
cheap from many workers. Nothing is downloaded unless ``data=hf`` names a dataset on the hub.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from tqdm import tqdm

from agents.runs import Config
from trainers.collect import collect
from trainers.conversations import convert
from trainers.data import ROWS, RowWriter
from trainers.hub import HubRows
from wildenv.errors import ConfigError
from wildenv.messages import digests_of

_CONSOLE = Console()
_NAMED = 10


def prepare(config: Config, folder: Path) -> Path:
    """Returns the row folder of a run; collects, converts or writes it first where needed.

    Args:
        config: The whole config; ``data.source`` decides.
        folder: The run directory, for rows that are made for this run alone.

    Raises:
        ConfigError: If there is nothing to train on; the message names the setting.
    """
    data = config["data"]
    match data["source"]:
        case "rows":
            return Path(data["path"])
        case "episodes":
            if data["path"] is None:
                return collect(config["collect"], config["env"], config["agent"], config["seed"], config.get("executor"))
            if not (Path(data["path"]) / ROWS).is_file():
                raise ConfigError(
                    f"data.path={data['path']}: there is no {ROWS} in it; run python -m trainers.collect folder={data['path']}"
                )
            return Path(data["path"])
        case "jsonl":
            refusals = convert(data["path"], folder / "rows", data["format"], data["max_refused"])
            for number, reason in refusals.rows[:_NAMED]:
                _CONSOLE.print(f"refused row {number}: {reason}", markup=False)
            _CONSOLE.print(
                f"{refusals.total - len(refusals.rows)} of {refusals.total} rows read; see {folder / 'rows' / 'refused.json'}"
            )
            return folder / "rows"
        case "hf":
            return _write_out(data, folder / "rows")
        case other:
            raise ConfigError(f"data.source={other!r} is none of episodes, jsonl, hf, rows")


def _write_out(data: dict[str, Any], folder: Path) -> Path:
    rows = HubRows(data["path"], data["split"])
    with RowWriter(folder) as writer:
        for index in tqdm(range(len(rows)), desc="reading the dataset", unit="row"):
            row = rows[index]
            for digest in digests_of(row.messages):
                writer.images.put_png(rows.images.png(digest))
            writer.write(row)
    return folder
