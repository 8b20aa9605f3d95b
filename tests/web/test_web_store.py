from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from wildenv.errors import ConfigError, DataError, UsageError
from wildenv.web.request import sha256
from wildenv.web.store import Blob, Store

Start = Callable[..., "subprocess.Popen[str]"]


def test_puts_and_gets_by_tool_and_key(tmp_path: Path) -> None:
    for store in (Store.memory(), Store(tmp_path / "new" / "s.db")):
        with store:
            assert store.get("a", "k") is None
            store.put("a", "k", {"q": 1}, {"x": [1, "é", None]})
            store.put("b", "k", {"q": 1}, {"x": 2})
            store.put("a", "k", {"q": 1}, {"x": "over"})
            assert store.get("a", "k") == {"x": "over"}
            assert store.get("b", "k") == {"x": 2}
            assert store.counts() == {"a": 1, "b": 1}
            assert list(store.requests("a")) == [("k", {"q": 1})]


def test_survives_closing(tmp_path: Path) -> None:
    data = Blob(b"\x00bytes", "image/png")
    with Store(tmp_path / "s.db") as store:
        digest = store.put("a", "k", {}, {"blob": data.digest}, data)
    with Store(tmp_path / "s.db", read_only=True) as store:
        assert store.blob(data.digest) == data
        assert store.digests(["a"]) == [("a", "k", digest)]
    with pytest.raises(UsageError, match="closed"):
        store.get("a", "k")


def test_every_request_is_listed_once_over_many_batches() -> None:
    with Store.memory() as store:
        for i in range(1203):
            store.put("t", f"{i:05d}", {"i": i}, {})
        assert [request["i"] for _, request in store.requests("t")] == list(range(1203))


def test_content_digest_ignores_the_order_of_writing() -> None:
    digests = set()
    for seed in range(3):
        entries = [(tool, str(i)) for tool in "ab" for i in range(20)]
        random.Random(seed).shuffle(entries)
        with Store.memory() as store:
            for tool, key in entries:
                store.put(tool, key, {}, {"v": key})
            digests.add(store.content_digest(["a", "b"]))
            assert store.content_digest(["a"]) not in digests
            store.put("a", "0", {}, {"v": "other"})
            assert store.content_digest(["a", "b"]) not in digests
    assert len(digests) == 1


def test_read_only_refuses_to_write_and_names_the_setting(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"web\.store=.*does not exist"):
        Store(tmp_path / "s.db", read_only=True)
    Store(tmp_path / "s.db").close()
    with Store(tmp_path / "s.db", read_only=True) as store, pytest.raises(ConfigError, match=r"web\.store"):
        store.put("a", "k", {}, {})


def test_a_blob_other_than_the_named_one_is_refused() -> None:
    with Store.memory() as store:
        with pytest.raises(UsageError, match="blob"):
            store.put("a", "k", {}, {"blob": "0" * 64}, Blob(b"x", "image/png"))
        with pytest.raises(UsageError, match="blob"):
            store.put("a", "k", {}, {"blob": "0" * 64})
        assert len(store) == 0


@pytest.mark.parametrize("change", ["response = '{\"v\":2}'", "digest = 'x'", "response = CAST(x'ff00' AS TEXT)"])
def test_a_changed_response_is_found_on_reading(tmp_path: Path, change: str) -> None:
    with Store(tmp_path / "s.db") as store:
        store.put("a", "key", {}, {"v": 1})
        with sqlite3.connect(tmp_path / "s.db") as raw:
            raw.execute(f"UPDATE entries SET {change}")
        raw.close()
        with pytest.raises(DataError, match="entry a key is damaged"):
            store.get("a", "key")


@pytest.mark.parametrize("response", ["nonsense", "[1]", "[" * 100_000])
def test_a_response_that_is_no_object_is_damage_though_its_digest_is_right(tmp_path: Path, response: str) -> None:
    with Store(tmp_path / "s.db") as store:
        store.put("a", "key", {}, {"v": 1})
        raw = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
        raw.execute("UPDATE entries SET response = ?, digest = ?", (response, sha256(response)))
        raw.close()
        with pytest.raises(DataError, match="entry a key is damaged"):
            store.get("a", "key")


@pytest.mark.parametrize("request_text", ["nonsense", "[]", "[" * 100_000, b"\x00"])
def test_a_damaged_request_is_found_when_requests_are_listed(tmp_path: Path, request_text: str | bytes) -> None:
    with Store(tmp_path / "s.db") as store:
        store.put("text_search", "k1", {}, {"results": []})
        raw = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
        raw.execute("UPDATE entries SET request = ?", (request_text,))
        raw.close()
        with pytest.raises(DataError, match=r"text_search k1 .*request"):
            list(store.requests("text_search"))


def test_a_changed_or_missing_blob_is_found_on_reading(tmp_path: Path) -> None:
    data = Blob(b"x", "image/png")
    with Store(tmp_path / "s.db") as store:
        store.put("a", "key", {}, {"blob": data.digest}, data)
        raw = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
        raw.execute("UPDATE blobs SET bytes = x'00'")
        with pytest.raises(DataError, match="damaged"):
            store.blob(data.digest)
        raw.execute("DELETE FROM blobs")
        raw.close()
        with pytest.raises(DataError, match="missing"):
            store.blob(data.digest)


def test_other_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    text, other, future = tmp_path / "text", tmp_path / "other.db", tmp_path / "future.db"
    text.write_text("not a database, " * 400)
    with pytest.raises(DataError, match="not a store"):
        Store(text)
    raw = sqlite3.connect(other)
    raw.execute("CREATE TABLE mine(x)")
    raw.close()
    before = other.read_bytes()
    with pytest.raises(ConfigError, match="not a store"):
        Store(other)
    assert other.read_bytes() == before
    with Store(future) as store:
        store.set_meta({"schema_version": "99"})
    with pytest.raises(ConfigError, match="format 99, this release reads up to 2"):
        Store(future)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"web\.store.*file.*name another folder"):
        Store(tmp_path / "file" / "web.db")


def test_threads_write_and_read_at_once(tmp_path: Path) -> None:
    for store in (Store.memory(), Store(tmp_path / "s.db")):
        with store, ThreadPoolExecutor(8) as pool:

            def work(n: int, store: Store = store) -> None:
                for i in range(20):
                    store.put("t", f"{n}-{i}", {}, {"v": [n, i]})
                    assert store.get("t", f"{n}-{i}") == {"v": [n, i]}

            list(pool.map(work, range(8)))
            assert store.counts() == {"t": 160}


def test_many_short_threads_leave_few_files_open(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.put("t", "k", {}, {})
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(50):
            thread = threading.Thread(target=store.get, args=("t", "k"))
            thread.start()
            thread.join()
        assert len(list(Path("/proc/self/fd").iterdir())) < before + 10


def test_processes_make_and_write_the_same_file_at_once(tmp_path: Path, run_python: Start) -> None:
    script = """
import sys
from wildenv.web.store import Store
print("ready", flush=True)
sys.stdin.readline()
with Store(sys.argv[1]) as store:
    for i in range(50):
        store.put("t", f"{sys.argv[2]}-{i}", {}, {"i": i})
"""
    writers = [run_python(script, tmp_path / "s.db", n) for n in range(3)]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        _, err = writer.communicate(timeout=120)
        assert writer.returncode == 0, err
    with Store(tmp_path / "s.db", read_only=True) as store:
        assert store.counts() == {"t": 150}


def test_a_forked_child_does_not_use_its_parents_connections(tmp_path: Path, run_python: Start) -> None:
    script = """
import os, sys
from wildenv.web.store import Store
store = Store(sys.argv[1])
store.put("t", "parent", {}, {"v": 1})
child = os.fork()
if child == 0:
    store.put("t", "child", {}, {"v": 2})
    os._exit(0 if store.get("t", "parent") == {"v": 1} and store._connections.inherited else 1)
assert os.waitpid(child, 0)[1] == 0
store.put("t", "after", {}, {"v": 3})
print(sorted(key for key, _ in store.requests("t")))
store.close()
"""
    out, err = run_python(script, tmp_path / "s.db").communicate(timeout=60)
    assert out.strip() == "['after', 'child', 'parent']", err


def test_a_gathered_store_can_be_copied_alone_while_it_is_open(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        for i in range(10):
            store.put("t", str(i), {}, {"i": i})
        store.gather()
        shutil.copy(tmp_path / "s.db", tmp_path / "copy.db")
    with Store(tmp_path / "copy.db", read_only=True) as copy:
        assert copy.counts() == {"t": 10}
    with Store.memory() as memory:
        memory.put("t", "k", {}, {})
        memory.gather()
        assert memory.counts() == {"t": 1}
