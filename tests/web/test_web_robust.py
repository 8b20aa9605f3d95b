"""Recording under kills, and by many processes and threads at once. Each script imports once and forks from there."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from wildenv.web.client import WebClient
from wildenv.web.packs.pack import export_pack, verify_pack
from wildenv.web.request import WEB_TOOLS
from wildenv.web.store import Store

CUTOFF = date(2026, 7, 4)

PROVIDER = """
import hashlib, io, json, os, random, signal, sys, time
from datetime import date
from PIL import Image
from wildenv.errors import Unavailable
from wildenv.web.client import WebClient
from wildenv.web.request import WEB_TOOLS
from wildenv.web.results import Page, TextHit
from wildenv.web.store import Store
class Provider:
    name, version, local = "fake", "1", True
    down = False
    calls = 0
    def text_search(self, query, limit, cutoff):
        self.calls += 1
        return [TextHit(f"{query} {i}", f"https://a.example/{i}", "words " * 50, "2026-07-01") for i in range(limit)]
    def fetch_page(self, url, cutoff):
        self.calls += 1
        if self.down:
            raise Unavailable(url, "timeout")
        return Page(url, "A page", "words " * 900, "2026-07-01")
    def fetch_image(self, url):
        side = 8 + int(url.rpartition("/")[2]) % 7 * 40
        noise = random.Random(url).randbytes(side * side * 3)
        out = io.BytesIO()
        Image.frombytes("RGB", (side, side), noise).save(out, format="PNG", compress_level=0)
        return out.getvalue()
CUTOFF = date(2026, 7, 4)
path, seed = sys.argv[1], int(sys.argv[2])
rng = random.Random(seed)
"""

KILLED_RECORDERS = (
    PROVIDER
    + """
def record(path, start, acks):
    client = WebClient(Provider(), "record", Store(path))
    for i in range(start, start + 100_000):
        client.fetch_image(f"https://a.example/{i}")
        os.write(acks, b".")
kept = [0] * 5
unanswered = moments = 0
for kill in range(50):
    number = kill % 5
    acks, says = os.pipe()
    child = os.fork()
    if child == 0:
        record(f"{path}.{number}", kept[number], says)
    os.close(says)
    # One in ten is killed while it starts, the others some time after their first entry.
    done = 0 if kill % 10 == 9 else len(os.read(acks, 1))
    time.sleep(rng.uniform(0, 0.1))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while read := os.read(acks, 65536):
        done += len(read)
    os.close(acks)
    moments += done > 0
    with Store(f"{path}.{number}") as store:
        found = len(store)
        assert 0 <= found - kept[number] - done <= 1, (kill, found, kept, done)
        unanswered += found - kept[number] - done
        client = WebClient(mode="replay", store=store)
        for i in range(kept[number], found):
            client.fetch_image(f"https://a.example/{i}")
    kept[number] = found
print(json.dumps({"kept": kept, "unanswered": unanswered, "moments": moments}))
"""
)

READERS = (
    PROVIDER
    + """
seconds = float(sys.argv[3])
Store(path).close()
end = time.monotonic() + seconds
def read(number):
    rng = random.Random(f"{seed} {number}")
    reads = grown = last = 0
    with Store(path, read_only=True) as store:
        while time.monotonic() < end:
            listed = store.digests(WEB_TOOLS)
            grown += len(listed) > last
            last = len(listed)
            for tool, key, digest in rng.sample(listed, min(20, last)):
                response = store.get(tool, key)
                if "blob" in response:
                    store.blob(response["blob"])
                reads += 1
    return {"reads": reads, "grown": grown, "last": last}
def write():
    client = WebClient(Provider(), "record", Store(path))
    i = 0
    while time.monotonic() < end:
        client.text_search(f"query {i}", 5, CUTOFF)
        client.fetch_image(f"https://a.example/{i}")
        i += 1
    return {"writes": 2 * i}
def fork(work):
    out, says = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(says, json.dumps(work()).encode())
        os._exit(0)
    os.close(says)
    return child, out
works = [fork(write), *(fork(lambda n=n: read(n)) for n in range(8))]
said = []
for child, out in works:
    assert os.waitpid(child, 0)[1] == 0
    said.append(json.loads(os.read(out, 65536)))
print(json.dumps(said))
"""
)

RECORDER = (
    PROVIDER
    + """
provider = Provider()
provider.down = sys.argv[3] == "down"
client = WebClient(provider, "record", Store(path), retry_gaps=not provider.down)
order = list(range(60))
rng.shuffle(order)
print("ready", flush=True)
sys.stdin.readline()
for i in order:
    client.text_search(f"query {i % 30}", 5, CUTOFF)
    try:
        client.fetch_page(f"https://a.example/{i}", CUTOFF)
    except Unavailable:
        pass
print(provider.calls)
"""
)


@pytest.mark.slow
def test_fifty_kills_lose_at_most_the_entry_being_written(tmp_path: Path, run_python: Callable[..., Any]) -> None:
    out, err = run_python(KILLED_RECORDERS, tmp_path / "s.db", 7).communicate(timeout=120)
    assert out, err
    said = json.loads(out)
    assert said["moments"] >= 45, "kills must come while entries are written"
    for number, kept in enumerate(said["kept"]):
        raw = sqlite3.connect(tmp_path / f"s.db.{number}")
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        raw.close()
        with Store(tmp_path / f"s.db.{number}") as store:
            assert store.counts() == {"fetch_image": kept}
            digest = export_pack(store, tmp_path / f"{number}.pack")
        report = verify_pack(tmp_path / f"{number}.pack")
        assert (report.digest, report.blobs) == (digest, kept)


@pytest.mark.slow
def test_eight_processes_read_while_one_writes(tmp_path: Path, run_python: Callable[..., Any]) -> None:
    out, err = run_python(READERS, tmp_path / "s.db", 3, 4).communicate(timeout=120)
    assert out, err
    assert "locked" not in err
    written, *read = json.loads(out)
    assert written["writes"] > 50
    assert len(read) == 8
    for one in read:
        assert one["reads"] > 20
        assert one["grown"] > 2
        assert one["last"] <= written["writes"]


def test_two_processes_record_the_same_store(tmp_path: Path, run_python: Callable[..., Any]) -> None:
    """One of them cannot reach any page; the other one tries the gaps it leaves again, and closes them."""
    recorders: list[subprocess.Popen[str]] = [
        run_python(RECORDER, tmp_path / "s.db", seed, state) for seed, state in enumerate(["up", "down"])
    ]
    for recorder in recorders:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == "ready\n"
    for recorder in recorders:
        assert recorder.stdin is not None
        recorder.stdin.write("go\n")
        recorder.stdin.flush()
    calls = 0
    for recorder in recorders:
        out, err = recorder.communicate(timeout=60)
        assert recorder.returncode == 0, err
        calls += int(out)
    assert 90 <= calls <= 180
    with Store(tmp_path / "s.db") as store:
        assert store.counts() == {"fetch_page": 60, "text_search": 30}
        assert store.gaps(WEB_TOOLS) == []
        assert export_pack(store, tmp_path / "s.pack") == verify_pack(tmp_path / "s.pack").digest


def test_a_hundred_identical_requests_at_once_cost_one_call(
    tmp_path: Path, make_provider: Callable[..., Any], make_picture: Callable[..., bytes]
) -> None:
    provider, start = make_provider(), threading.Barrier(100)
    provider.pictures["https://a.example/x.png"] = make_picture()
    provider.fail = lambda call: time.sleep(0.1)
    with Store(tmp_path / "s.db") as store, ThreadPoolExecutor(100) as pool:
        client = WebClient(provider, "record", store)

        def ask(number: int) -> object:
            start.wait(30)
            return client.text_search("the  same", 2, CUTOFF).results, client.fetch_image("https://a.example/x.png").tobytes()

        answers = set(pool.map(ask, range(100)))
        assert len(answers) == 1
        assert provider.asked == {"text_search": 1, "fetch_image": 1}
        for tool in ("text_search", "fetch_image"):
            usage = client.usage[tool]
            assert (usage.calls, usage.hits, usage.misses) == (1, 99, 1)
