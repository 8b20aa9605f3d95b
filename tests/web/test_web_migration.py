"""Files that the previous format's release wrote, in ``fixtures``."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from wildenv.errors import ConfigError, PackError, ToolError
from wildenv.web.client import WebClient
from wildenv.web.packs.pack import Imported, export_pack, import_pack, open_pack, pack_digest, verify_pack
from wildenv.web.request import WEB_TOOLS
from wildenv.web.store import Store

FIXTURES = Path(__file__).with_name("fixtures")
DIGEST = "795fb978b79b5906e0d718b8af15dbe9ce2e54bf4cf83bf4261990a191265b2d"
CUTOFF = date(2026, 1, 4)

RAISE_HALF_WAY = """
import sys, wildenv.web.schema as schema
from wildenv.web.store import Store
def stop(statement):
    if statement.startswith("UPDATE meta"):
        print("half way", flush=True)
        sys.stdin.readline()
def migrate(connection, real=schema.migrate):
    connection.set_trace_callback(stop)
    real(connection)
import wildenv.web.store as store
store.migrate = migrate
Store(sys.argv[1])
"""


@pytest.fixture
def old_store(tmp_path: Path) -> Path:
    return Path(shutil.copy(FIXTURES / "store_format_1.sqlite", tmp_path / "old.sqlite"))


def version(path: Path) -> str:
    raw = sqlite3.connect(path)
    (found,) = raw.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
    raw.close()
    return str(found)


def answers(store: Store) -> list[object]:
    """Returns what a replay of everything in the fixture says."""
    client = WebClient(mode="replay", store=store, overfetch=4)
    said: list[object] = [
        client.text_search("new press picture", 2, CUTOFF).results,
        client.text_search("zzzqqq", 2, CUTOFF).results,
        client.image_search("press picture", 2, CUTOFF).results,
        client.fetch_page("https://insidetalk.example/meminar", CUTOFF).page,
        client.fetch_image("https://binex.example/de4f9c68cb.png").tobytes(),
    ]
    with pytest.raises(ToolError, match=r"there is no page at https://nowhere\.example/x"):
        client.fetch_page("https://nowhere.example/x", CUTOFF)
    return said


def test_an_old_store_is_read_as_it_is(old_store: Path) -> None:
    before = old_store.read_bytes()
    with Store(old_store, read_only=True) as store:
        assert store.content_digest(WEB_TOOLS) == DIGEST
        assert len(answers(store)) == 5
        assert store.gaps(WEB_TOOLS) == []
        assert not store.has_gap("fetch_page", "k")
    assert old_store.read_bytes() == before == (FIXTURES / "store_format_1.sqlite").read_bytes()
    assert [path.name for path in old_store.parent.iterdir()] == ["old.sqlite"]


def test_an_old_store_is_raised_when_it_is_opened_for_writing(old_store: Path) -> None:
    assert version(old_store) == "1"
    with Store(old_store, read_only=True) as reader, Store(old_store) as store:
        assert version(old_store) == "2"
        assert store.content_digest(WEB_TOOLS) == DIGEST
        assert answers(store) == answers(reader)
        store.note_gap("fetch_page", "k", {"a": 1})
        assert store.has_gap("fetch_page", "k")
        assert store.content_digest(WEB_TOOLS) != DIGEST
    with Store(old_store) as store:
        assert [gap.key for gap in store.gaps(WEB_TOOLS)] == ["k"]


def test_an_old_pack_is_read_verified_imported_and_exported_anew(tmp_path: Path) -> None:
    pack = tmp_path / "old.pack"
    shutil.copy(FIXTURES / "pack_format_1.pack", pack)
    assert pack_digest(pack) == DIGEST
    report = verify_pack(pack)
    assert (report.digest, sum(report.entries.values()), report.gaps) == (DIGEST, 6, {})
    with open_pack(pack) as old, Store(tmp_path / "new.db") as store:
        said = answers(old)
        assert import_pack(pack, store) == Imported(added=6, same=0, conflicting=0)
        assert answers(store) == said
        assert export_pack(store, tmp_path / "new.pack") == DIGEST
        assert export_pack(old, tmp_path / "newer.pack") == DIGEST
    assert (tmp_path / "new.pack").read_bytes() == (tmp_path / "newer.pack").read_bytes()
    with open_pack(tmp_path / "new.pack") as new:
        assert new.meta()["pack_format"] == new.meta()["schema_version"] == "2"
    assert pack.read_bytes() == (FIXTURES / "pack_format_1.pack").read_bytes()


@pytest.mark.parametrize("found", ["3", "99", "", "two", "-1"])
def test_a_format_that_is_not_known_is_refused_with_advice(tmp_path: Path, old_store: Path, found: str) -> None:
    for path, error in ((tmp_path / "new.db", ConfigError), (old_store, ConfigError), (tmp_path / "p.pack", PackError)):
        if path.suffix == ".db":
            Store(path).close()
        if path.suffix == ".pack":
            shutil.copy(FIXTURES / "pack_format_1.pack", path)
        raw = sqlite3.connect(path, isolation_level=None)
        raw.execute("UPDATE meta SET value = ? WHERE name = 'schema_version'", (found,))
        raw.close()
        for call in (open_pack,) if error is PackError else (Store, lambda name: Store(name, read_only=True)):
            with pytest.raises(error, match=f"has format {found}, this release reads up to 2; install the wildenv that wrote it"):
                call(path)
        assert version(path) == found


def test_a_raise_that_is_killed_half_way_leaves_the_old_store(
    old_store: Path, run_python: Callable[..., subprocess.Popen[str]]
) -> None:
    process = run_python(RAISE_HALF_WAY, old_store)
    assert process.stdout is not None
    assert process.stdout.readline() == "half way\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=30)
    with Store(old_store, read_only=True) as store:
        assert store.meta()["schema_version"] == "1"
        assert store.content_digest(WEB_TOOLS) == DIGEST
        assert len(answers(store)) == 5
    with Store(old_store) as store:
        assert store.meta()["schema_version"] == "2"
        assert store.content_digest(WEB_TOOLS) == DIGEST


def test_processes_that_raise_the_same_store_at_once_all_get_it(
    old_store: Path, run_python: Callable[..., subprocess.Popen[str]]
) -> None:
    script = """
import sys
from wildenv.web.store import Store
sys.stdin.readline()
with Store(sys.argv[1]) as store:
    store.note_gap("fetch_page", sys.argv[2], {})
"""
    raisers = [run_python(script, old_store, n) for n in range(3)]
    for raiser in raisers:
        assert raiser.stdin is not None
        raiser.stdin.write("go\n")
        raiser.stdin.flush()
    for raiser in raisers:
        _, err = raiser.communicate(timeout=60)
        assert raiser.returncode == 0, err
    with Store(old_store, read_only=True) as store:
        assert [gap.key for gap in store.gaps(WEB_TOOLS)] == ["0", "1", "2"]
