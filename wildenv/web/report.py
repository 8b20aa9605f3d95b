"""What the runs that wrote a folder asked the web for: a file beside the episodes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WEB = "web.jsonl"


def append_report(folder: Path, report: Mapping[str, Any]) -> None:
    """Adds `wildenv.web.client.WebClient.report` as a line, one for each run."""
    with (folder / WEB).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(report, sort_keys=True) + "\n")
