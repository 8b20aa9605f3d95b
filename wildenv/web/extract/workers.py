"""Reads documents in worker processes, so that no document can hang, bloat or crash an environment.

Workers are plain subprocesses, which daemonic processes may have too, and start when they are first needed. One that takes too
long or dies is replaced. One that dies may have been killed by the system or an operator, so the document gets a second one, and
only if that dies too it is the document's fault. Whether a document is too slow depends on the machine; such a document is never
recorded as an answer.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from wildenv.errors import ConfigError, Unavailable, WebError
from wildenv.secrets import logger
from wildenv.web.deadline import remaining
from wildenv.web.extract.media import kind_of
from wildenv.web.extract.process import WorkerDied, WorkerProcess
from wildenv.web.results import Page

_LOG = logger(__name__)

REVISION = 1
"""Of this package: goes up with every change that makes other pages of the same bytes."""

START_S = 60.0
"""How long a worker may take to load its libraries; not part of a document's time."""

_POOLS: weakref.WeakSet[Extractor] = weakref.WeakSet()


class Extractor:
    """Makes pages of what servers send. Safe for threads, and usable after a fork.

    Args:
        workers: Processes at most.
        seconds: Time that one document may take.
        memory_mb: Memory that one document may take; enforced on Linux.

    Attributes:
        version: What the pages depend on besides the document; part of the cache key.

    Raises:
        ConfigError: If a value is not valid or a library is not installed.
    """

    def __init__(self, workers: int = 2, seconds: float = 10.0, memory_mb: int = 1_536) -> None:
        if workers < 1:
            raise ConfigError(f"web.extractor.workers={workers} must be at least 1")
        if not seconds > 0:
            raise ConfigError(f"web.extractor.seconds={seconds} must be more than 0")
        if memory_mb < 64:
            raise ConfigError(f"web.extractor.memory_mb={memory_mb} must be at least 64")
        self.workers = workers
        self.seconds = seconds
        self.memory_mb = memory_mb
        self.version = f"trafilatura {_installed('trafilatura')}, pypdf {_installed('pypdf')}, {REVISION}"
        self._free = threading.Condition()
        self._idle: list[WorkerProcess] = []
        self._all: set[WorkerProcess] = set()
        weakref.finalize(self, _end, self._all)
        _POOLS.add(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Extractor:
        return self

    def page(self, data: bytes, url: str, media_type: str, charset: str | None) -> Page:
        """Reads a document.

        Args:
            data: The document, decompressed.
            url: Where it comes from.
            media_type: The server's claim, lower case, without parameters; empty if it made none.
            charset: The encoding that the server names, if any.

        Raises:
            Unavailable: If the document is of a kind that is not read (``unsupported type``), damaged (``unreadable``), takes too
                long (``too slow``) or has too much text (``too large``).
            DeadlineExceeded: If the tool call's time is over.
            WebError: If workers do not start.
        """
        kind = kind_of(data, media_type)
        if kind is None:
            raise Unavailable(url, "unsupported type", media_type or "no type given")
        job = {"kind": kind, "url": url, "charset": charset, "seconds": self.seconds}
        try:
            answer = self._answer(job, data)
        except WorkerDied as first:
            _LOG.debug("reading %s again: the extraction worker %s", url, first)
            try:
                answer = self._answer(job, data, fresh=True)
            except WorkerDied as error:
                raise Unavailable(url, "unreadable", f"two extraction workers in a row died; the last {error}") from error
        if "failed" in answer:
            raise Unavailable(url, answer["failed"], answer["detail"])
        return Page.from_dict(answer["page"])

    def close(self) -> None:
        """Ends the workers, also those at work; a later page starts new ones."""
        with self._free:
            idle, self._idle = self._idle, []
            self._all.difference_update(idle)
            for worker in self._all:
                worker.stop()
        for worker in idle:
            worker.kill()

    def _answer(self, job: dict[str, Any], data: bytes, fresh: bool = False) -> dict[str, Any]:
        """Has a worker read a document; raises `WorkerDied` if it died at that for no reason that is known here."""
        worker = self._take(fresh)
        try:
            return self._ask(worker, job, data)
        finally:
            self._give_back(worker)

    def _ask(self, worker: WorkerProcess, job: dict[str, Any], data: bytes) -> dict[str, Any]:
        ready = False
        allowed = remaining(START_S)
        try:
            worker.wait_ready(time.monotonic() + allowed)
            ready = True
            allowed = remaining(self.seconds)
            return worker.ask(job, data, time.monotonic() + allowed)
        except TimeoutError:
            # Raises if it was the tool call's time that ran out; a worker that is still starting then goes on for the next call.
            remaining(allowed)
            if ready:
                raise self._too_slow(job["url"]) from None
            worker.stop()
            raise WebError(f"an extraction worker did not start in {START_S:g} s; lower web.extractor.workers") from None
        except WorkerDied as error:
            if worker.stopped:
                raise WebError("the page extractor was closed while it was in use") from error
            if not ready:
                raise WebError(f"an extraction worker (web.extractor) cannot start: it {error}") from error
            if error.alarmed:
                raise self._too_slow(job["url"]) from error
            raise

    def _too_slow(self, url: str) -> Unavailable:
        return Unavailable(url, "too slow", f"not read within {self.seconds:g} s (web.extractor.seconds)")

    def _take(self, fresh: bool) -> WorkerProcess:
        """Returns a worker, perhaps one that is still starting, or a new one if `fresh`; waits for one if all are busy."""
        with self._free:
            while not self._idle and len(self._all) >= self.workers:
                self._free.wait(remaining(1.0))
            while self._idle and (not fresh or len(self._all) >= self.workers):
                worker = self._idle.pop()
                if worker.fit and not fresh:
                    return worker
                self._all.discard(worker)
                worker.kill()
            try:
                worker = WorkerProcess(self.memory_mb)
            except OSError as error:
                raise WebError(f"an extraction worker (web.extractor) cannot start: {error}") from error
            self._all.add(worker)
            return worker

    def _give_back(self, worker: WorkerProcess) -> None:
        with self._free:
            fit = worker.fit
            if fit:
                self._idle.append(worker)
            else:
                self._all.discard(worker)
            self._free.notify()
        if not fit:
            worker.kill()

    def _after_fork(self) -> None:
        self._free = threading.Condition()
        self._idle = []
        for worker in self._all:
            worker.abandon()
        self._all.clear()


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        raise ConfigError(f"reading pages needs {package}, which is not installed: pip install 'wildenv[web]'") from None


def _end(workers: set[WorkerProcess]) -> None:
    for worker in workers:
        worker.kill()
    workers.clear()


def _after_fork() -> None:
    for pool in _POOLS:
        pool._after_fork()


os.register_at_fork(after_in_child=_after_fork)
