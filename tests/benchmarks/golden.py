"""Reads the golden parity data that lies beside the repository; nothing of it is copied into the repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).resolve().parents[2].parent / "shared" / "golden"


def load(benchmark: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the input and the expected values of a benchmark; skips the test if they are not there."""
    folder = GOLDEN / benchmark
    if not folder.is_dir():
        pytest.skip(f"golden data of {benchmark} is not beside the repository (../shared/golden)")
    return tuple(json.loads((folder / name).read_text(encoding="utf-8")) for name in ("input.json", "expected.json"))  # type: ignore[return-value]


def cases(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the cases of an input, with the items of the case they say they use."""
    return {name: {**case, "items": data[case["use"]]["items"]} if "use" in case else case for name, case in data.items()}


def close(found: Any, wanted: Any) -> bool:
    """Whether nested values are equal, numbers but for the last digits of a sum taken in another order."""
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(close(found[key], value) for key, value in wanted.items())
    return bool(found == pytest.approx(wanted, abs=1e-9))
