"""Fetching from hosts that do everything wrong: the right outcome for each, in bounded time and memory."""

from __future__ import annotations

import gzip
import json
import logging
import random
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.web import hostile
from tests.web.hostile import HostileWeb, hostile_web
from wildenv.errors import ConfigError, DeadlineExceeded, ToolError, Unavailable
from wildenv.secrets import HIDDEN, Secret
from wildenv.web.deadline import tool_deadline
from wildenv.web.net.decoding import PIECE
from wildenv.web.net.fetch import Download, Fetcher, FetchLimits
from wildenv.web.net.manners import Rules

pytestmark = pytest.mark.loopback

QUICK = FetchLimits(connect_s=0.5, first_byte_s=0.3, total_s=0.7)
PATIENT = FetchLimits(connect_s=5.0, first_byte_s=5.0, total_s=10.0)
"""For what ends by itself, or by its size: how fast the machine is must not matter."""

POLITE = Rules(attempts=3, backoff_s=0.01)

SLACK_S = 3.0
"""The machine that runs the tests may be busy."""


@pytest.fixture(scope="module")
def web() -> Iterator[HostileWeb]:
    with hostile_web() as running:
        yield running


@pytest.fixture
def fetcher(web: HostileWeb) -> Fetcher:
    return Fetcher(PATIENT, POLITE, web.allow)


def fetch(fetcher: Fetcher, trap: hostile.Trap) -> tuple[str, Any]:
    """Returns what came of it, and the answer or the error."""
    try:
        return "answer", fetcher.page(trap.url) if trap.tool == "fetch_page" else fetcher.picture(trap.url)
    except Unavailable as error:
        return error.kind, error
    except ToolError as error:
        return "absent", error


def failing(fetcher: Fetcher, url: str) -> Unavailable:
    with pytest.raises(Unavailable) as failed:
        fetcher.page(url)
    return failed.value


@pytest.mark.parametrize("name", hostile.NAMES)
def test_every_trap_has_its_outcome_in_time(web: HostileWeb, name: str) -> None:
    trap = web.traps[name]
    limits = QUICK if trap.fetched == ("timeout",) else PATIENT
    start = time.monotonic()
    outcome, found = fetch(Fetcher(limits, POLITE, web.allow), trap)
    assert outcome in trap.fetched, found
    assert time.monotonic() - start < QUICK.total_s + SLACK_S
    if isinstance(found, Unavailable):
        assert str(found) == f"{trap.url} cannot be fetched; try another address"
        assert found.url == trap.url


def test_a_download_says_what_it_is_and_where_it_came_from(fetcher: Fetcher, web: HostileWeb) -> None:
    moved = fetcher.page(web.traps["moved"].url + "#part")
    assert moved == Download(f"{web.base}/page", "text/html", None, moved.data)
    assert b"The kestrel of 2026" in moved.data
    latin = fetcher.page(web.traps["latin-1"].url)
    assert (latin.media_type, latin.charset) == ("text/html", "iso-8859-1")
    assert fetcher.page(web.traps["no-type"].url).media_type == ""
    assert fetcher.page(web.traps["gzip"].url).data == fetcher.page(web.traps["raw-deflate"].url).data


def test_no_cookie_and_no_proxy_is_used(fetcher: Fetcher, web: HostileWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://me:secret@127.0.0.1:1/")
    head = fetcher.page(web.traps["sets-a-cookie"].url).data.decode().lower()
    assert head.startswith("get /echo http/1.1\r\n")
    assert f"host: 127.0.0.1:{web.ports['plain']}\r\n" in head
    assert "user-agent: mozilla/5.0 (compatible; wildenv)\r\n" in head
    assert "accept-encoding: gzip, deflate\r\n" in head
    for name in ("cookie", "authorization", "referer"):
        assert f"\r\n{name}:" not in head


def test_pages_and_pictures_ask_for_what_they_are(fetcher: Fetcher, web: HostileWeb) -> None:
    echo = web.traps["echo"].url
    assert b"text/html" in fetcher.page(echo).data
    assert b"image/webp" in fetcher.picture(echo)


def test_a_failure_that_may_pass_is_tried_again_and_counted(web: HostileWeb) -> None:
    fetcher = Fetcher(PATIENT, POLITE, web.allow)
    before = web.counters().get("/storm", 0)
    assert failing(fetcher, web.traps["storm"].url).kind == "http 500"
    assert web.counters()["/storm"] == before + 3
    assert (fetcher.spending.requests, fetcher.spending.retries) == (3, 2)
    assert fetcher.spending.bytes > 3 * 1000
    before = web.counters().get("/forbidden", 0)
    assert failing(fetcher, web.traps["forbidden"].url).kind == "http 403"
    assert web.counters()["/forbidden"] == before + 1


@pytest.mark.parametrize("name", ["gzip-bomb", "endless", "truncated-gzip"])
def test_an_error_does_not_keep_the_body(fetcher: Fetcher, web: HostileWeb, name: str) -> None:
    """Errors live on in whoever waits for the same address, in notes and in logs; bodies of megabytes must not."""
    error: BaseException | None = failing(fetcher, web.traps[name].url)
    kept, frames = Counter[str](), 0
    while error is not None:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            frames += 1
            for name, value in frame.f_locals.items():
                parts = value if isinstance(value, list) else [value]
                kept[f"{frame.f_code.co_qualname} {name}"] += sum(len(one) for one in parts if isinstance(one, bytes | bytearray))
        error = error.__cause__
    assert frames > 5
    assert kept.total() < 10 * PIECE, kept.most_common(3)


def test_a_short_pause_is_kept_by_all(web: HostileWeb) -> None:
    fetcher = Fetcher(PATIENT, Rules(concurrency=4, backoff_s=0.01), web.allow)
    with ThreadPoolExecutor(16) as threads:
        done = list(threads.map(fetcher.page, [web.traps["busy"].url] * 50))
    assert len(done) == 50
    # Those who were already under way when the pause was asked for could not know.
    assert web.counters()["impolite"] <= 3 * 3


def test_a_long_pause_is_not_waited_for_and_nothing_is_sent_in_it(web: HostileWeb) -> None:
    fetcher = Fetcher(PATIENT, POLITE, web.allow)
    trap = web.traps["come-back-in-an-hour"]
    before = web.counters().get(f"/{trap.name}", 0)
    start = time.monotonic()
    assert [failing(fetcher, trap.url).kind for _ in range(5)] == ["http 429"] * 5
    assert time.monotonic() - start < SLACK_S
    assert web.counters()[f"/{trap.name}"] == before + 1
    assert "asked for a pause" in failing(fetcher, trap.url).detail


def test_the_deadline_of_the_tool_call_is_not_the_fault_of_the_address(fetcher: Fetcher, web: HostileWeb) -> None:
    for name in ("never", "drip-head", "drip-body", "drip-chunks"):
        start = time.monotonic()
        with tool_deadline(0.15), pytest.raises(DeadlineExceeded):
            fetcher.page(web.traps[name].url)
        assert time.monotonic() - start < SLACK_S


def test_all_attempts_together_have_one_time_limit(web: HostileWeb) -> None:
    limits = FetchLimits(connect_s=0.5, first_byte_s=0.25, total_s=0.6)
    start = time.monotonic()
    assert failing(Fetcher(limits, Rules(attempts=20, backoff_s=0.0), web.allow), web.traps["never"].url).kind == "timeout"
    assert 0.5 < time.monotonic() - start < 0.6 + SLACK_S


def test_slow_hosts_do_not_hold_up_others(web: HostileWeb) -> None:
    fetcher = Fetcher(FetchLimits(first_byte_s=1.5, total_s=1.5), Rules(concurrency=2, attempts=1), web.allow)
    slow = [threading.Thread(target=failing, args=(fetcher, web.traps["never"].url)) for _ in range(2)]
    for thread in slow:
        thread.start()
    start = time.monotonic()
    assert fetcher.page(web.traps["page"].url).data
    assert time.monotonic() - start < 1.0
    for thread in slow:
        thread.join()


def test_limits_are_those_that_are_set(web: HostileWeb) -> None:
    size = len(Fetcher(PATIENT, POLITE, web.allow).page(web.traps["page"].url).data)
    packed = Fetcher(FetchLimits(page_bytes=size - 1), POLITE, web.allow)
    assert failing(packed, web.traps["page"].url).kind == "too large"
    assert packed.page(web.traps["gzip"].url).data
    unpacked = Fetcher(FetchLimits(decoded_bytes=size - 1), POLITE, web.allow)
    assert failing(unpacked, web.traps["gzip"].url).kind == "too large"
    exact = Fetcher(FetchLimits(page_bytes=size, decoded_bytes=size), POLITE, web.allow)
    assert len(exact.page(web.traps["page"].url).data) == size
    picture = Fetcher(FetchLimits(picture_bytes=100), POLITE, web.allow)
    with pytest.raises(Unavailable):
        picture.picture(web.traps["png"].url)
    assert failing(Fetcher(FetchLimits(redirects=0), POLITE, web.allow), web.traps["moved"].url).kind == "redirects"
    assert Fetcher(FetchLimits(redirects=1), POLITE, web.allow).page(web.traps["moved"].url).data


def test_secrets_reach_neither_the_log_nor_the_error(fetcher: Fetcher, web: HostileWeb, caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret("correct-horse-battery")
    with caplog.at_level(logging.DEBUG, "wildenv.web.net.fetch"):
        failing(fetcher, f"{web.traps['forbidden'].url}?key={secret.reveal()}")
        failed = failing(fetcher, f"http://{secret.reveal()}/")
    assert caplog.messages[0] == f"{web.traps['forbidden'].url}?key={HIDDEN}: http 403: Forbidden"
    assert failed.detail == f"'{HIDDEN}' is a name of a local network"
    assert secret.reveal() not in caplog.text


_REPLIES = [
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 20\r\n\r\n<html>hello</html>  ",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<html\r\n1\r\n>\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"<html>" * 50, mtime=0),
    b"HTTP/1.1 302 Found\r\nLocation: /abc?d#e\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n",
]


def _damaged(reply: bytes, chance: random.Random) -> bytes:
    data = bytearray(reply)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data))
        cut = chance.choice((0, 0, 1, 3))
        data[at : at + cut] = chance.choice((chance.randbytes(1), chance.randbytes(3), bytes(data[at : at + 20]), b""))
    return bytes(data)


def test_no_reply_is_too_strange() -> None:
    chance = random.Random(7)
    replies = [_damaged(chance.choice(_REPLIES), chance) for _ in range(300)]
    outcomes: Counter[str] = Counter()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for reply in replies:
                with listening.accept()[0] as connection:
                    connection.recv(65_536)
                    connection.sendall(reply)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        host = f"127.0.0.1:{listening.getsockname()[1]}"
        for _ in replies:
            # A fetcher of its own for each: the pause that one reply asks for must not hold for the next.
            fetcher = Fetcher(FetchLimits(redirects=0), Rules(attempts=1), (host,))
            outcomes[fetch(fetcher, hostile.Trap("", f"http://{host}/", "fetch_page", (), ()))[0]] += 1
        thread.join(5)
    assert outcomes.total() == len(replies)
    assert {"answer", "bad reply", "bad encoding", "incomplete", "redirects"} <= set(outcomes), outcomes


@pytest.mark.parametrize(
    "url", ["", "page", "http://", "file:///etc/passwd", "http://127.0.0.1/", "http://me@127.0.0.1/", "http://[::1]/"]
)
def test_what_is_no_public_address_is_not_fetched(url: str) -> None:
    assert failing(Fetcher(QUICK, POLITE), url).kind == "refused address"


@pytest.mark.parametrize(
    "wrong",
    [
        {"page_bytes": 0},
        {"picture_bytes": -1},
        {"decoded_bytes": 1.5},
        {"redirects": -1},
        {"connect_s": 0},
        {"first_byte_s": float("nan")},
        {"total_s": float("inf")},
        {"total_s": "20"},
        {"total_s": True},
    ],
)
def test_limits_that_make_no_sense_name_themselves(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf"web\.limits\.{next(iter(wrong))}="):
        FetchLimits(**wrong)


@pytest.mark.parametrize("agent", ["", " ", "two\nlines", "naïve"])
def test_a_user_agent_is_one_line(agent: str) -> None:
    with pytest.raises(ConfigError, match="user agent"):
        Fetcher(user_agent=agent)


_MEASURE = """
import json, sys
from wildenv.errors import DataError, ToolError
from wildenv.images import decode
from wildenv.web.net.fetch import Fetcher, FetchLimits
from wildenv.web.net.manners import Rules

def most():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024

allow, warm, traps = json.loads(sys.stdin.read())
fetcher = Fetcher(FetchLimits(first_byte_s=5, total_s=10), Rules(attempts=1), allow)
decode(fetcher.picture(warm))
before = most()
grown = {}
for name, tool, url in traps:
    try:
        found = fetcher.page(url) if tool == "fetch_page" else decode(fetcher.picture(url))
    except (ToolError, DataError):
        pass
    found = None
    grown[name] = most() - before
print(json.dumps(grown))
"""

LARGE = """
tiny-chunks header-bomb one-endless-header continues endless-trailers says-20-mb endless html-20-mb deep-html pixel-bomb
gif-of-2000-frames picture-of-25-mb gzip-bomb
""".split()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured as Linux tells it")
def test_memory_is_bounded(web: HostileWeb) -> None:
    traps = [(web.traps[name].name, web.traps[name].tool, web.traps[name].url) for name in LARGE]
    given = json.dumps([web.allow, web.traps["png"].url, traps])
    run = subprocess.run([sys.executable, "-c", _MEASURE], input=given, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    grown = json.loads(run.stdout)
    # Limits are 5 MB arriving and 40 MB unpacked; the bomb holds 1 GiB, the picture 2.5 G pixels.
    assert grown["gif-of-2000-frames"] < 30, grown
    assert grown["gzip-bomb"] < 90, grown
