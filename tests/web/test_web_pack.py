from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from wildenv.errors import CacheMiss, ConfigError, DataError, PackError, Unavailable
from wildenv.web.client import WebClient
from wildenv.web.packs.pack import Imported, export_pack, import_pack, open_pack, pack_digest, verify_pack
from wildenv.web.request import WEB_TOOLS, sha256
from wildenv.web.store import Gap, Row, Store

CUTOFF = date(2026, 7, 4)
DOWN = "https://a.example/down"
QUERIES = [f"query {i}" for i in range(12)]

REPLAY = """
import hashlib, sys
from datetime import date
from wildenv.web.client import WebClient
from wildenv.web.packs.pack import open_pack, verify_pack
verify_pack(sys.argv[1])
client = WebClient(mode="replay", store=open_pack(sys.argv[1]))
seen = hashlib.sha256()
for i in range(12):
    seen.update(repr(client.text_search(f"query {i}", 2, date(2026, 7, 4)).results).encode())
    seen.update(client.fetch_image(f"https://a.example/{i}.png").tobytes())
print(client.digest, seen.hexdigest())
"""


def fill(store: Store, provider: Any, picture: Callable[..., bytes], order: list[int] | None = None) -> None:
    client = WebClient(provider, "record", store)
    with pytest.raises(Unavailable):
        client.fetch_page(DOWN, CUTOFF)
    for i in order or range(len(QUERIES)):
        client.text_search(QUERIES[i], 2, CUTOFF)
        provider.pictures[f"https://a.example/{i}.png"] = picture((i, 20, 30))
        client.fetch_image(f"https://a.example/{i}.png")


@pytest.fixture
def pack(tmp_path: Path, make_provider: Callable[..., Any], make_picture: Callable[..., bytes]) -> Path:
    with Store(tmp_path / "s.db") as store:
        fill(store, make_provider(), make_picture)
        export_pack(store, tmp_path / "web.pack")
    return tmp_path / "web.pack"


@contextmanager
def edit(path: Path) -> Iterator[sqlite3.Connection]:
    raw = sqlite3.connect(path, isolation_level=None)
    try:
        yield raw
    finally:
        raw.close()


def test_replays_in_another_process_without_sockets(
    pack: Path, tmp_path: Path, run_python: Callable[..., subprocess.Popen[str]]
) -> None:
    elsewhere = tmp_path / "copied" / "any name.bin"
    elsewhere.parent.mkdir()
    shutil.copy(pack, elsewhere)
    shutil.rmtree(pack.parent / "s.db", ignore_errors=True)
    runs = [run_python(REPLAY, path).communicate(timeout=120) for path in (pack, elsewhere)]
    assert runs[0][0].split()[0] == pack_digest(pack), runs[0][1]
    assert runs[0][0] == runs[1][0]


def test_verify_reports_what_is_in_it(pack: Path) -> None:
    report = verify_pack(pack)
    assert report.entries == {"fetch_image": 12, "text_search": 12}
    assert report.blobs == 12
    assert report.gaps == {"fetch_page": 1}
    assert report.digest == pack_digest(pack)
    assert report.size == pack.stat().st_size


def test_a_pack_is_one_file_and_does_not_depend_on_the_order_of_recording(
    pack: Path, tmp_path: Path, make_provider: Callable[..., Any], make_picture: Callable[..., bytes]
) -> None:
    order = list(range(len(QUERIES)))
    random.Random(1).shuffle(order)
    other = tmp_path / "folder" / "other.pack"
    with Store.memory() as store:
        fill(store, make_provider(), make_picture, order)
        assert export_pack(store, other) == pack_digest(pack)
    assert [path.name for path in other.parent.iterdir()] == ["other.pack"]
    assert other.read_bytes() == pack.read_bytes()


def test_works_from_a_folder_that_cannot_be_written(pack: Path, tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    shutil.copy(pack, folder / "web.pack")
    (folder / "web.pack").chmod(0o444)
    folder.chmod(0o555)
    try:
        verify_pack(folder / "web.pack")
        with open_pack(folder / "web.pack") as store:
            assert WebClient(mode="replay", store=store).text_search(QUERIES[3], 2, CUTOFF).cached
        assert len(list(folder.iterdir())) == 1
    finally:
        folder.chmod(0o755)


def test_reading_leaves_the_file_as_it_was(pack: Path) -> None:
    before = pack.read_bytes()
    with open_pack(pack) as store:
        client = WebClient(mode="replay", store=store)
        client.text_search(QUERIES[0], 2, CUTOFF)
        with pytest.raises(CacheMiss) as missed:
            client.text_search("query 0!", 2, CUTOFF)
        assert str(missed.value).startswith("text_search 'query 0!' is not recorded; the nearest record is 'query 0'; set")
        with pytest.raises(ConfigError, match="read-only"):
            store.put("text_search", "k", {}, {})
    with pytest.raises(ConfigError, match="is a pack"):
        Store(pack)
    assert pack.read_bytes() == before
    assert not list(pack.parent.glob("web.pack-*"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("UPDATE entries SET response = '{\"results\":[]}' WHERE request LIKE '%query 7%'", "text_search 'query 7'"),
        ("UPDATE entries SET request = replace(request, 'query 7', 'query x')", "its request does not have this key"),
        ("UPDATE entries SET request = 'nonsense' WHERE request LIKE '%query 7%'", "its request is unreadable"),
        ("UPDATE blobs SET bytes = x'00' WHERE rowid = 3", "missing or damaged"),
        ("DELETE FROM blobs WHERE rowid = 3", r"fetch_image 'https://a\.example/\d+\.png'"),
        ("DELETE FROM entries WHERE request LIKE '%query 7%'", r"23 found, 24 recorded"),
        ("UPDATE meta SET value = 'x' WHERE name = 'content_digest'", "has another digest"),
        ("DELETE FROM meta WHERE name = 'entries'", "None recorded"),
        ("UPDATE gaps SET request = replace(request, 'down', 'up')", r"gap fetch_page \w+: its request does not have this key"),
        ("UPDATE gaps SET request = 'nonsense'", r"gap fetch_page \w+: its request is unreadable"),
        ("UPDATE entries SET request = replace(hex(zeroblob(50000)), '0', '[')", "its request is unreadable"),
        ("UPDATE gaps SET request = x'00'", "no text"),
        ("UPDATE blobs SET media_type = x'00'", "missing or damaged"),
        ("INSERT INTO entries VALUES ('verdict', 'k', 'd', '{}', '{}')", "entries or gaps of 'verdict'"),
        ("INSERT INTO gaps VALUES ('verdict', 'k', '{}')", "entries or gaps of 'verdict'"),
        ("UPDATE meta SET value = 'many' WHERE name = 'overfetch'", "overfetch.*'many'"),
        ("UPDATE meta SET value = x'00' WHERE name = 'entries'", "no text"),
        ("DELETE FROM gaps", "has another digest"),
        ("INSERT INTO gaps SELECT tool, key, request FROM entries LIMIT 1", "an entry and a gap"),
    ],
)
def test_damage_is_found_and_named(pack: Path, damage: str, message: str) -> None:
    with edit(pack) as raw:
        raw.execute(damage)
    with Store.memory() as store:
        with pytest.raises(PackError, match=message):
            import_pack(pack, store)
        assert len(store) == 0
    with pytest.raises(PackError, match="damaged"):
        verify_pack(pack)


def test_damage_that_no_entry_leads_to_is_found(pack: Path) -> None:
    with pack.open("r+b") as file:
        # SQLite's own count of the pages it does not use.
        file.seek(36)
        file.write((7).to_bytes(4, "big"))
    with open_pack(pack) as store:
        assert WebClient(mode="replay", store=store).text_search(QUERIES[0], 2, CUTOFF).cached
    with pytest.raises(PackError, match=r"is damaged: the file itself: .*[Ff]reelist"):
        verify_pack(pack)


def test_many_damaged_entries_are_counted(pack: Path) -> None:
    with edit(pack) as raw:
        raw.execute("UPDATE entries SET response = '{}'")
    with pytest.raises(PackError, match="and 14 more"):
        verify_pack(pack)


@pytest.mark.parametrize("response", ["[]", "nonsense", '{"blob":7}', "[" * 100_000])
def test_a_response_of_another_shape_is_damage_though_its_digest_is_right(pack: Path, response: str) -> None:
    with edit(pack) as raw:
        change = "UPDATE entries SET response = ?, digest = ? WHERE request LIKE '%query 7%'"
        raw.execute(change, (response, sha256(response)))
    with pytest.raises(PackError, match=r"'query 7'.*its response is unreadable"):
        verify_pack(pack)


@pytest.mark.parametrize("noted", ["many", "0", "-1", "2.5", "9" * 400])
def test_a_noted_overfetch_that_is_no_factor_is_said_in_one_sentence(pack: Path, tmp_path: Path, noted: str) -> None:
    for path in (pack, tmp_path / "s.db"):
        with edit(path) as raw:
            raw.execute("UPDATE meta SET value = ? WHERE name = 'overfetch'", (noted,))
    with pytest.raises(DataError, match="overfetch"):
        WebClient(mode="replay", store=open_pack(pack))
    with Store(tmp_path / "s.db") as store, pytest.raises(DataError, match="overfetch"):
        export_pack(store, tmp_path / "b.pack")


def test_flipped_bytes_anywhere_are_found_or_harmless(pack: Path, tmp_path: Path) -> None:
    """Bytes that belong to nothing may differ; then every answer is still the recorded one."""
    original, rng = pack.read_bytes(), random.Random(0)
    found = 0
    for _ in range(60):
        damaged = bytearray(original)
        for _ in range(20):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        copy = tmp_path / "copy.pack"
        copy.write_bytes(damaged)
        try:
            digest = verify_pack(copy).digest
        except PackError:
            found += 1
        else:
            assert digest == pack_digest(pack)
    assert found > 0


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.99])
def test_a_file_cut_short_is_refused(pack: Path, share: float) -> None:
    data = pack.read_bytes()
    pack.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(PackError):
        verify_pack(pack)


def test_what_is_no_pack_is_refused_with_advice(pack: Path, tmp_path: Path) -> None:
    with pytest.raises(PackError, match=r"there is no pack at .*web\.store"):
        open_pack(tmp_path / "nothing")
    (tmp_path / "text").write_text("hello " * 1000)
    with pytest.raises(PackError, match="not a store"):
        open_pack(tmp_path / "text")
    with pytest.raises(PackError, match="export_pack"):
        open_pack(tmp_path / "s.db")


@pytest.mark.parametrize(("name", "reads"), [("pack_format", "1 and 2"), ("schema_version", "up to 2")])
def test_a_later_version_is_refused_with_advice(pack: Path, name: str, reads: str) -> None:
    with edit(pack) as raw:
        raw.execute("UPDATE meta SET value = '3' WHERE name = ?", (name,))
    for call in (open_pack, pack_digest, verify_pack):
        with pytest.raises(PackError, match=rf"format 3, this release reads {reads}; install the wildenv that wrote it"):
            call(pack)


def test_import_adds_what_is_missing_and_keeps_what_is_there(pack: Path, make_provider: Callable[..., Any]) -> None:
    with Store.memory() as store:
        recorder = WebClient(make_provider(), "record", store)
        recorder.text_search(QUERIES[0], 2, CUTOFF)
        other = WebClient(make_provider(hits=1), "record", store)
        own = other.text_search(QUERIES[1], 2, CUTOFF)
        with pytest.raises(Unavailable):
            recorder.fetch_page(DOWN.replace("down", "gone/down"), CUTOFF)
        assert import_pack(pack, store) == Imported(added=22, same=1, conflicting=1, gaps=1)
        assert len(store.gaps(["fetch_page"])) == 2
        client = WebClient(mode="replay", store=store)
        assert client.text_search(QUERIES[1], 2, CUTOFF).results == own.results
        assert client.fetch_image("https://a.example/5.png").getpixel((0, 0)) == (5, 20, 30)
        assert import_pack(pack, store) == Imported(added=0, same=23, conflicting=1)


def test_an_entry_on_either_side_of_an_import_closes_a_gap(pack: Path, tmp_path: Path, make_provider: Callable[..., Any]) -> None:
    up = make_provider()
    up.down = ""
    with Store.memory() as store:
        client = WebClient(up, "record", store)
        client.fetch_page(DOWN, CUTOFF)
        assert import_pack(pack, store).gaps == 0
        assert store.gaps(["fetch_page"]) == []
        export_pack(store, tmp_path / "up.pack")
    with Store.memory() as store:
        import_pack(pack, store)
        assert import_pack(tmp_path / "up.pack", store) == Imported(added=1, same=24, conflicting=0, closed=1)
        assert store.gaps(["fetch_page"]) == []


def test_a_replay_says_of_a_gap_what_the_recording_said(pack: Path, make_provider: Callable[..., Any]) -> None:
    """Although nothing of `fetch_page` is answered in it."""
    live = WebClient(make_provider(), "live")
    with open_pack(pack) as store:
        client = WebClient(mode="replay", store=store)
        said = []
        for one in (live, client):
            with pytest.raises(Unavailable) as failure:
                one.fetch_page(DOWN, CUTOFF)
            said.append(str(failure.value))
        assert said[0] == said[1]
        with pytest.raises(CacheMiss):
            client.fetch_page(f"{DOWN}/another", CUTOFF)


def test_a_gap_and_an_entry_of_one_request_leave_the_entry() -> None:
    with Store.memory() as store:
        row, gap = Row("t", "k", "d", "{}", "{}"), Gap("t", "k", "{}")
        store.write([row], [], [gap])
        assert store.gaps(["t"]) == []
        store.write([], [], [gap, Gap("t", "other", "{}")])
        assert [one.key for one in store.gaps(["t"])] == ["other"]
        before = store.content_digest(["t"])
        store.write([Row("t", "other", "d", "{}", "{}")], [])
        assert store.gaps(["t"]) == []
        assert store.content_digest(["t"]) != before


def test_a_store_with_nothing_but_gaps_is_exported(tmp_path: Path, make_provider: Callable[..., Any]) -> None:
    with Store.memory() as store:
        with pytest.raises(Unavailable):
            WebClient(make_provider(), "record", store).fetch_page(DOWN, CUTOFF)
        digest = export_pack(store, tmp_path / "gaps.pack")
        assert digest == store.content_digest(WEB_TOOLS)
    assert verify_pack(tmp_path / "gaps.pack").gaps == {"fetch_page": 1}


def test_other_namespaces_stay_behind(
    tmp_path: Path, make_provider: Callable[..., Any], make_picture: Callable[..., bytes]
) -> None:
    with Store(tmp_path / "s.db") as store:
        with pytest.raises(ConfigError, match=r"web\.mode=record"):
            export_pack(store, tmp_path / "a.pack")
        store.put("verdict:search", "k", {}, {"value": 1})
        fill(store, make_provider(), make_picture)
        export_pack(store, tmp_path / "a.pack")
    assert "verdict:search" not in verify_pack(tmp_path / "a.pack").entries


def test_a_failed_export_leaves_the_old_pack_and_nothing_else(pack: Path, tmp_path: Path) -> None:
    before = pack.read_bytes()
    with Store(tmp_path / "s.db") as store:
        with edit(tmp_path / "s.db") as raw:
            raw.execute("UPDATE entries SET response = '{}' WHERE request LIKE '%query 7%'")
        with pytest.raises(DataError, match="query 7"):
            export_pack(store, pack)
    assert pack.read_bytes() == before
    assert not [path for path in tmp_path.iterdir() if "part" in path.name]


KILLED = """
import os, signal, sys
from pathlib import Path
from wildenv.web.packs import pack
from wildenv.web.store import Store
pack._seal = lambda part: os.kill(os.getpid(), signal.SIGKILL)
store = Store(sys.argv[1])
Store.close = lambda self: None
pack.export_pack(store, sys.argv[2])
"""


def test_what_a_killed_export_left_is_removed_by_the_next_one(
    pack: Path, tmp_path: Path, run_python: Callable[..., subprocess.Popen[str]]
) -> None:
    before = pack_digest(pack)
    process = run_python(KILLED, tmp_path / "s.db", pack)
    process.communicate(timeout=60)
    left = sorted(path.name for path in tmp_path.glob(".web.pack.*"))
    assert f".web.pack.{process.pid}." in left[0]
    assert {name.rpartition(".")[2] for name in left} == {"part", "part-wal", "part-shm"}
    others = [f".web.pack.{os.getpid()}.0123abcd.part", f".other.pack.{process.pid}.0123abcd.part", ".web.pack.note.part"]
    for name in others:
        (tmp_path / name).write_text("")
    with Store(tmp_path / "s.db") as store:
        assert export_pack(store, pack) == before
    # What a running process writes, another pack's parts and other files are not touched.
    assert sorted(path.name for path in tmp_path.glob(".*")) == sorted(others)


@pytest.mark.parametrize("there", [True, False])
def test_an_export_onto_a_link_writes_what_it_leads_to(pack: Path, tmp_path: Path, there: bool) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "real.pack", tmp_path / "link.pack"
    link.symlink_to(target)
    if there:
        shutil.copy(pack, target)
        with edit(target) as raw:
            raw.execute("DELETE FROM gaps")
    with Store(tmp_path / "s.db") as store:
        digest = export_pack(store, link)
    assert link.is_symlink()
    assert verify_pack(target).digest == verify_pack(link).digest == digest
    assert [path.name for path in target.parent.iterdir()] == ["real.pack"]


def test_a_link_to_itself_is_refused(pack: Path, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with Store(tmp_path / "s.db") as store, pytest.raises(ConfigError, match=r"loop.*another path"):
        export_pack(store, tmp_path / "loop")


def test_a_path_that_is_no_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    with Store(tmp_path / "s.db") as store:
        store.put("text_search", "k", {}, {"results": []})
        for path, says in (
            (tmp_path, "is no file"),
            (tmp_path / "pipe", "is no file"),
            (tmp_path / "file" / "x", "cannot be made"),
        ):
            with pytest.raises(ConfigError, match=says):
                export_pack(store, path)
    assert (tmp_path / "pipe").is_fifo()
