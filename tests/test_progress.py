from __future__ import annotations

import io

import pytest

from wildenv import progress
from wildenv.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_plain_lines_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(progress.progress([1, 2, 3], "reading", 3, "rows")) == [1, 2, 3]
    assert capsys.readouterr().err == "", "it was done before the first line was due"
    monkeypatch.setattr(progress, "PAUSE_S", 0.0)
    with progress_bar("record", 60, "requests", done=24) as bar:
        bar.update()
    said = capsys.readouterr().err
    assert "\r" not in said
    assert said.splitlines()[0].startswith("record: 24/60 requests in 00:00, ")
    assert said.splitlines()[-1].startswith("record: 25/60 requests")


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with progress_bar("record", 60, "requests", done=24):
        pass
    assert "record:  40%" in screen.getvalue()
    assert "24/60" in screen.getvalue()
    before = screen.getvalue()
    with progress_bar("record", 60, "requests", hidden=True) as bar:
        bar.update()
    assert screen.getvalue() == before
