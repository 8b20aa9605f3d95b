"""What was asked for of a folder of episodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.asked import FILE, Asked, read_asked
from wildenv.errors import ConfigError


def test_the_most_that_was_asked_for_stands(tmp_path: Path) -> None:
    assert read_asked(tmp_path) is None
    for tasks in (3, 12, 5):
        Asked(tasks, "savanna").keep(tmp_path)
    assert read_asked(tmp_path) == Asked(12, "savanna")


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    for text in ("{", '{"tasks": 3, "more": 1}', "[]"):
        (tmp_path / FILE).write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError, match=r"asked\.json is damaged"):
            read_asked(tmp_path)
