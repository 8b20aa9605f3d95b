from __future__ import annotations

import errno
import fcntl
import threading
from pathlib import Path

import pytest

from wildenv.errors import ConfigError
from wildenv.lock import only_writer


def test_whoever_holds_a_folder_may_take_it_again_and_nobody_else(tmp_path: Path) -> None:
    said: list[str] = []

    def other() -> None:
        try:
            with only_writer(tmp_path / "eps", "--episodes"):
                said.append("taken")
        except ConfigError as error:
            said.append(str(error))

    with only_writer(tmp_path / "eps"), only_writer(f"{tmp_path}/./eps"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    other()
    assert said == [f"another run is writing --episodes={tmp_path}/eps; wait for it to end, or name another folder", "taken"]


def test_a_file_system_that_cannot_lock_is_said_and_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with only_writer(tmp_path):
        pass
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path} cannot be locked (No locks available); start no second run that writes it"
    ]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"--episodes=.*file cannot be made"), only_writer(tmp_path / "file", "--episodes"):
        pass
