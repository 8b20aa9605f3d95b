"""Documents are read in real worker processes here; what is in them is `test_web_extract`'s business."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.web.documents import pdf
from wildenv.errors import ConfigError, DeadlineExceeded, Unavailable, WebError
from wildenv.web.deadline import tool_deadline
from wildenv.web.extract import Extractor, workers
from wildenv.web.extract.process import WorkerDied, WorkerProcess
from wildenv.web.extract.worker import _GRACE_S
from wildenv.web.results import Link, Page

URL = "https://harbour.example/lantern"
HTML = b"""<html><head><title>Lantern</title><meta property="article:published_time" content="2026-05-01"></head><body><article>
<p>The lantern is teal all over, and its trim is orange, as <a href="/colours">the list of colours</a> has said for a year.</p>
<p>It was made by two workshops, one for the glass and one for the frame, and both of them have closed their doors since then.</p>
<p>Whoever wants to see it should come after sunset, when the star on its front is lit and turns around once in a minute.</p>
</article></body></html>"""

SLOW = b"<html><body>" + (b"<div>a " * 1_000 + b"</div>" * 1_000) * 5 + b"</body></html>"
"""Takes seconds, but has fewer elements than are read in a simpler way."""


@pytest.fixture(scope="module")
def shared() -> Iterator[Extractor]:
    extractor = Extractor(workers=2)
    yield extractor
    extractor.close()


@pytest.fixture
def made() -> Iterator[Callable[..., Extractor]]:
    extractors: list[Extractor] = []

    def make(**settings: Any) -> Extractor:
        extractors.append(Extractor(**{"workers": 1, **settings}))
        return extractors[-1]

    yield make
    for extractor in extractors:
        extractor.close()


def _pids(extractor: Extractor) -> set[int]:
    return {worker.pid for worker in extractor._all}


def _running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _gone(pids: set[int], within: float = 10.0) -> bool:
    end = time.monotonic() + within
    while any(map(_running, pids)):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_a_page_comes_back_whole(shared: Extractor) -> None:
    page = shared.page(HTML, URL, "text/html", "utf-8")
    assert (page.url, page.title, page.published) == (URL, "Lantern", "2026-05-01")
    assert page.text.startswith("The lantern is teal all over")
    assert page.links == (Link("the list of colours", "https://harbour.example/colours"),)


def test_pdf_and_plain_text_are_read_too(shared: Extractor) -> None:
    assert shared.page(pdf(["The lantern is teal."]), URL, "application/pdf", None).text == "The lantern is teal."
    assert shared.page("Grün".encode("latin-1"), URL, "text/plain", "latin-1").text == "Grün"


def test_other_types_are_refused_without_a_worker() -> None:
    extractor = Extractor()
    with pytest.raises(Unavailable) as caught:
        extractor.page(b"{}", URL, "application/json", None)
    assert (caught.value.kind, caught.value.detail, caught.value.url) == ("unsupported type", "application/json", URL)
    assert not _pids(extractor)


def test_a_damaged_document_is_unreadable_and_the_worker_stays(shared: Extractor) -> None:
    shared.page(HTML, URL, "text/html", None)
    before = _pids(shared)
    with pytest.raises(Unavailable) as caught:
        shared.page(b"%PDF-1.7 nonsense", URL, "application/pdf", None)
    assert caught.value.kind == "unreadable"
    assert "damaged" in caught.value.detail
    assert "nonsense" not in str(caught.value)
    assert _pids(shared) >= before


def test_the_version_names_the_libraries_and_the_revision(shared: Extractor) -> None:
    trafilatura, pypdf = metadata.version("trafilatura"), metadata.version("pypdf")
    assert shared.version == f"trafilatura {trafilatura}, pypdf {pypdf}, {workers.REVISION}"


@pytest.mark.parametrize("package", ["trafilatura", "pypdf"])
def test_a_missing_library_is_named_at_once(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == package:
            raise metadata.PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(workers, "version", version)
    with pytest.raises(ConfigError, match=rf"{package}.*pip install 'wildenv\[web\]'"):
        Extractor()


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"seconds": 0}, {"seconds": float("nan")}, {"memory_mb": 1}])
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"web.extractor.{next(iter(wrong))}="):
        Extractor(**wrong)


def test_the_parent_loads_no_library() -> None:
    code = (
        "import sys, wildenv, wildenv.web.extract as e; e.Extractor();"
        "print([m for m in ('trafilatura', 'lxml', 'pypdf', 'charset_normalizer') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_slow_document_is_given_up_and_the_worker_replaced(made: Callable[..., Extractor]) -> None:
    extractor = made(seconds=0.2)
    with pytest.raises(Unavailable) as caught:
        extractor.page(SLOW, URL, "text/html", None)
    assert caught.value.kind == "too slow"
    assert "web.extractor.seconds" in caught.value.detail
    assert not _pids(extractor)
    assert extractor.page(HTML, URL, "text/html", None).title == "Lantern"


def test_the_deadline_of_the_tool_call_ends_the_wait(made: Callable[..., Extractor]) -> None:
    extractor = made()
    extractor.page(HTML, URL, "text/html", None)
    started = time.monotonic()
    with tool_deadline(0.2), pytest.raises(DeadlineExceeded, match=r"env\.tool_deadline_s"):
        extractor.page(SLOW, URL, "text/html", None)
    assert time.monotonic() - started < 2


def test_the_deadline_also_ends_the_wait_for_a_free_worker(made: Callable[..., Extractor]) -> None:
    extractor = made(seconds=1)
    extractor.page(HTML, URL, "text/html", None)
    with ThreadPoolExecutor(1) as threads:
        busy = threads.submit(extractor.page, SLOW, URL, "text/html", None)
        while extractor._idle:
            time.sleep(0.001)
        with tool_deadline(0.1), pytest.raises(DeadlineExceeded):
            extractor.page(HTML, URL, "text/html", None)
        with pytest.raises(Unavailable):
            busy.result()


def test_a_worker_that_starts_when_the_deadline_comes_serves_the_next_call(made: Callable[..., Extractor]) -> None:
    extractor = made()
    with tool_deadline(0.01), pytest.raises(DeadlineExceeded):
        extractor.page(HTML, URL, "text/html", None)
    starting = _pids(extractor)
    assert len(starting) == 1
    assert extractor.page(HTML, URL, "text/html", None).title == "Lantern"
    assert _pids(extractor) == starting


def test_a_killed_worker_is_replaced(made: Callable[..., Extractor]) -> None:
    extractor = made()
    extractor.page(HTML, URL, "text/html", None)
    (pid,) = _pids(extractor)
    os.kill(pid, signal.SIGKILL)
    _gone({pid})
    assert extractor.page(HTML, URL, "text/html", None).title == "Lantern"
    assert pid not in _pids(extractor)


@pytest.fixture
def killing(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[signal.Signals]], list[int]]:
    """Kills workers as a job is given to them, with these signals in turn; returns the pids that were given one."""

    def kill(signals: list[signal.Signals]) -> list[int]:
        asked: list[int] = []
        ask = WorkerProcess.ask

        def killed(worker: WorkerProcess, job: dict[str, Any], data: bytes, end: float) -> dict[str, Any]:
            asked.append(worker.pid)
            if signals:
                os.kill(worker.pid, signals.pop(0))
                _gone({worker.pid})
            return ask(worker, job, data, end)

        monkeypatch.setattr(WorkerProcess, "ask", killed)
        return asked

    return kill


Killing = Callable[[list[signal.Signals]], list[int]]


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_one_death_of_a_worker_is_not_the_document_s_fault(
    made: Callable[..., Extractor], killing: Killing, by: signal.Signals
) -> None:
    extractor = made(workers=2)
    asked = killing([by])
    assert extractor.page(HTML, URL, "text/html", None).title == "Lantern"
    assert len(set(asked)) == len(asked) == 2
    assert _pids(extractor) == {asked[1]}


def test_the_second_try_is_a_fresh_worker_s_though_others_are_idle(made: Callable[..., Extractor], killing: Killing) -> None:
    extractor = made(workers=2)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: extractor.page(HTML, URL, "text/html", None), range(8)))
    before = _pids(extractor)
    asked = killing([signal.SIGKILL])
    assert extractor.page(HTML, URL, "text/html", None).title == "Lantern"
    assert asked[0] in before
    assert asked[1] not in before


def test_a_worker_killed_in_the_middle_of_a_document_is_replaced_and_the_document_read(made: Callable[..., Extractor]) -> None:
    extractor = made(seconds=60)
    extractor.page(HTML, URL, "text/html", None)
    (pid,) = _pids(extractor)
    threading.Timer(0.2, os.kill, (pid, signal.SIGKILL)).start()
    assert extractor.page(SLOW, URL, "text/html", None).url == URL
    assert pid not in _pids(extractor)


def test_two_deaths_in_a_row_make_the_document_unreadable(made: Callable[..., Extractor], killing: Killing) -> None:
    extractor = made()
    asked = killing([signal.SIGSEGV, signal.SIGSEGV])
    with pytest.raises(Unavailable) as caught:
        extractor.page(HTML, URL, "text/html", None)
    assert caught.value.kind == "unreadable"
    assert f"code -{int(signal.SIGSEGV)}" in caught.value.detail
    assert len(asked) == 2
    assert extractor.page(HTML, URL, "text/html", None).title == "Lantern"


def test_a_worker_that_its_alarm_ended_was_too_slow_and_is_not_asked_again(
    made: Callable[..., Extractor], killing: Killing
) -> None:
    extractor = made()
    asked = killing([signal.SIGALRM])
    with pytest.raises(Unavailable) as caught:
        extractor.page(HTML, URL, "text/html", None)
    assert caught.value.kind == "too slow"
    assert len(asked) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the memory limit is Linux's")
def test_a_document_that_needs_too_much_memory_is_unreadable(made: Callable[..., Extractor]) -> None:
    extractor = made(memory_mb=64)
    with pytest.raises(Unavailable) as caught:
        extractor.page(b"<html><body>" + b"<p>a" * 1_000_000, URL, "text/html", None)
    assert caught.value.kind == "unreadable"
    assert extractor.page(HTML, URL, "text/html", None).title == "Lantern"


@pytest.mark.skipif(sys.platform != "linux", reason="the memory limit is Linux's")
def test_a_worker_that_has_grown_is_replaced(made: Callable[..., Extractor]) -> None:
    extractor = made(memory_mb=80)
    extractor.page(HTML, URL, "text/html", None)
    before = _pids(extractor)
    assert extractor.page(b"<html><body>" + b"<p>a" * 190_000, URL, "text/html", None).text
    assert not _pids(extractor)
    assert extractor.page(HTML, URL, "text/html", None).title == "Lantern"
    assert not before & _pids(extractor)


def test_a_document_of_endless_text_is_too_large(shared: Extractor) -> None:
    with pytest.raises(Unavailable) as caught:
        shared.page(b"word " * 1_100_000, URL, "text/plain", None)
    assert caught.value.kind == "too large"


def test_a_worker_that_cannot_start_says_why(
    made: Callable[..., Extractor], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    interpreter = tmp_path / "python"
    interpreter.write_text("#!/bin/sh\necho no libraries today >&2\nexit 3\n")
    interpreter.chmod(0o755)
    extractor = made()
    monkeypatch.setattr(sys, "executable", str(interpreter))
    with pytest.raises(WebError, match=r"web\.extractor.* cannot start: it ended with code 3: no libraries today"):
        extractor.page(HTML, URL, "text/html", None)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere"))
    with pytest.raises(WebError, match=r"web\.extractor.* cannot start: .*nowhere"):
        extractor.page(HTML, URL, "text/html", None)
    assert not _pids(extractor)


def test_workers_do_not_see_the_parent_s_secrets(made: Callable[..., Extractor], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERPER_API_KEY", "sk-hidden")
    extractor = made()
    extractor.page(HTML, URL, "text/html", None)
    (pid,) = _pids(extractor)
    assert b"sk-hidden" not in Path(f"/proc/{pid}/environ").read_bytes()


def test_what_libraries_say_goes_to_the_log_only(
    made: Callable[..., Extractor], caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG, "wildenv.web.extract"), pytest.raises(Unavailable):
        made().page(b"%PDF-1.7 nonsense", URL, "application/pdf", None)
    assert "invalid pdf header" in caplog.text or "EOF marker" in caplog.text or "startxref" in caplog.text
    assert {record.levelno for record in caplog.records} == {logging.DEBUG}
    assert capfd.readouterr() == ("", "")


def test_many_threads_share_few_workers(shared: Extractor) -> None:
    def read(i: int) -> Page:
        return shared.page(HTML.replace(b"<title>Lantern", b"<title>Lantern %d" % i), f"{URL}/{i}", "text/html", None)

    with ThreadPoolExecutor(32) as threads:
        pages = list(threads.map(read, range(200)))
    assert [(page.title, page.url) for page in pages] == [(f"Lantern {i}", f"{URL}/{i}") for i in range(200)]
    assert len(_pids(shared)) <= 2
    assert len(shared._idle) == len(shared._all)


def test_many_threads_survive_documents_that_kill_workers(made: Callable[..., Extractor]) -> None:
    extractor = made(workers=2, seconds=1)

    def read(i: int) -> str:
        try:
            return extractor.page(SLOW if i % 11 == 0 else HTML, URL, "text/html", None).title
        except Unavailable as error:
            return error.kind

    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(read, range(32))) == ["too slow" if i % 11 == 0 else "Lantern" for i in range(32)]
    assert len(extractor._idle) == len(extractor._all) <= 2


def test_two_workers_give_the_same_page(made: Callable[..., Extractor]) -> None:
    assert made().page(HTML, URL, "text/html", None) == made().page(HTML, URL, "text/html", None)


def test_closing_ends_workers_and_a_later_page_starts_one(made: Callable[..., Extractor]) -> None:
    extractor = made()
    extractor.page(HTML, URL, "text/html", None)
    pids = _pids(extractor)
    extractor.close()
    assert _gone(pids)
    assert extractor.page(HTML, URL, "text/html", None).title == "Lantern"


def test_closing_while_a_document_is_read_is_not_the_document_s_fault(made: Callable[..., Extractor]) -> None:
    extractor = made()
    extractor.page(HTML, URL, "text/html", None)
    with ThreadPoolExecutor(1) as threads:
        busy = threads.submit(extractor.page, SLOW, URL, "text/html", None)
        while extractor._idle:
            time.sleep(0.001)
        extractor.close()
        with pytest.raises(WebError, match="closed while it was in use"):
            busy.result()
    assert not _pids(extractor)


def test_an_extractor_that_nobody_holds_ends_its_workers() -> None:
    extractor = Extractor(workers=1)
    extractor.page(HTML, URL, "text/html", None)
    pids = _pids(extractor)
    del extractor
    assert _gone(pids)


PARENT = f"""
import sys
from wildenv.web.extract import Extractor
extractor = Extractor(workers=1)
extractor.page({HTML!r}, "http://a.example", "text/html", None)
print(*(worker.pid for worker in extractor._all), flush=True)
"""


def _parent(then: str) -> tuple[subprocess.Popen[str], set[int]]:
    process = subprocess.Popen([sys.executable, "-c", PARENT + then], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, {int(pid) for pid in process.stdout.readline().split()}


def _end(process: subprocess.Popen[str]) -> None:
    process.communicate()


def test_workers_end_with_the_interpreter() -> None:
    process, pids = _parent("")
    _end(process)
    assert pids
    assert _gone(pids)


def test_workers_end_when_the_parent_is_killed() -> None:
    process, pids = _parent("sys.stdin.read()")
    assert all(map(_running, pids))
    process.kill()
    _end(process)
    assert pids
    assert _gone(pids)


def test_a_worker_that_nobody_ends_is_ended_by_its_alarm() -> None:
    worker = WorkerProcess(512)
    try:
        worker.wait_ready(time.monotonic() + 30)
        job = {"kind": "html", "url": URL, "charset": None, "seconds": 0.2 - _GRACE_S}
        with pytest.raises(WorkerDied, match=f"code -{int(signal.SIGALRM)}"):
            worker.ask(job, SLOW, time.monotonic() + 30)
    finally:
        worker.kill()


def test_workers_end_when_the_parent_is_killed_though_a_forked_child_lives_on() -> None:
    process, pids = _parent(
        "import os, time\npid = os.fork()\nif pid == 0:\n    time.sleep(5)\nelse:\n    print(pid, flush=True)\n    time.sleep(60)"
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.kill()
    process.wait()
    try:
        assert _gone(pids, within=4)
        assert _running(child)
    finally:
        os.kill(child, signal.SIGKILL)
        _end(process)


def _read_in_child(extractor: Extractor, answers: Any) -> None:
    answers.put((extractor.page(HTML, URL, "text/html", None).title, sorted(_pids(extractor))))
    extractor.close()


def test_a_daemonic_forked_process_reads_with_workers_of_its_own(shared: Extractor) -> None:
    shared.page(HTML, URL, "text/html", None)
    mine = _pids(shared)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    process = context.Process(target=_read_in_child, args=(shared, answers), daemon=True)
    process.start()
    title, theirs = answers.get(timeout=30)
    process.join()
    assert title == "Lantern"
    assert not mine & set(theirs)
    assert _gone(set(theirs))
    assert shared.page(HTML, URL, "text/html", None).title == "Lantern"
    assert _pids(shared) == mine
    answers.close()


@pytest.mark.parametrize(
    "data",
    [
        b"<html><body>" + b"<div>" * 100_000 + b"text" + b"</div>" * 100_000,
        b"<html><body><p>" + b"text " * 900_000,
        b"<html><body>text" + b"<p>a" * 1_000_000,
        b"<html><body>text\0" + bytes(range(128, 256)) * 8_000,
        b"<html><body>text<a " + b"x" * 4_000_000,
        b"<html><body>text" + b"<!--" * 1_000_000,
    ],
    ids=["deep", "one line", "a million tags", "invalid bytes", "a tag without end", "comments without end"],
)
def test_large_and_odd_pages_are_read(shared: Extractor, data: bytes) -> None:
    page = shared.page(data, URL, "text/html", None)
    assert "text" in page.text
    assert shared.page(HTML, URL, "text/html", None).title == "Lantern"
