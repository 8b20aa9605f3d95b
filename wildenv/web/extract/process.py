"""One extraction worker, seen from the process that started it."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from typing import IO, Any, cast

from wildenv.errors import DataError
from wildenv.secrets import logger
from wildenv.web.extract import frames

_LOG = logger("wildenv.web.extract")
_CHUNK = 1 << 16
_KEPT_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "VIRTUAL_ENV", "TMPDIR", "LANG", "LC_ALL")


class WorkerDied(Exception):
    """The worker ended in the middle of something. `alarmed` says whether its own alarm did it."""

    def __init__(self, message: str, alarmed: bool = False) -> None:
        super().__init__(message)
        self.alarmed = alarmed


class WorkerProcess:
    """A running worker. For one thread at a time.

    It loads its libraries while whoever started it does something else; `wait_ready` waits for that.

    Args:
        memory_mb: Memory that documents may take.
    """

    def __init__(self, memory_mb: int) -> None:
        path = [os.path.abspath(entry) for entry in sys.path]  # noqa: PTH100  (as a string, links unresolved, as Python has it)
        kept = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
        # One hash seed and one thread: the same document gives the same page in every worker.
        fixed = {"PYTHONPATH": os.pathsep.join(dict.fromkeys(path)), "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "wildenv.web.extract.worker", str(memory_mb)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={**kept, **fixed},
            # Ctrl-C in a terminal is for the parent to handle.
            start_new_session=True,
        )
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._jobs, self._answers, self._noise = cast(tuple[IO[bytes], IO[bytes], IO[bytes]], pipes)
        for pipe in (self._jobs, self._answers, self._noise):
            os.set_blocking(pipe.fileno(), False)
        self._buffer = bytearray()
        self._said = b""
        self._ready = False
        self._spent = False
        self.stopped = False

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def fit(self) -> bool:
        """Whether it can take a job, at once or when it has started."""
        return not self._spent and not self.stopped and self._process.poll() is None

    def wait_ready(self, end: float) -> None:
        """Waits until the worker can take jobs.

        Args:
            end: Until when, by `time.monotonic`.

        Raises:
            TimeoutError: If it is not ready then; it may be later.
            WorkerDied: If it cannot start; says why.
        """
        if not self._ready:
            self._exchange(b"", end)
            self._ready = True

    def ask(self, job: dict[str, Any], data: bytes, end: float) -> dict[str, Any]:
        """Gives the worker a job and returns its answer.

        Raises:
            TimeoutError: If there is none by then; the worker is of no further use.
            WorkerDied: If the worker ended.
        """
        self._said = b""
        self._spent = True
        answer = self._exchange(frames.pack(job, data), end)
        self._spent = answer["last"]
        return answer

    def stop(self) -> None:
        """Ends a worker that another thread may be waiting for."""
        self.stopped = True
        self._process.kill()

    def kill(self) -> None:
        """Ends the worker and lets go of its pipes."""
        self._process.kill()
        self._close()
        self._process.wait()

    def abandon(self) -> None:
        """Lets go of a worker that belongs to the process this one was forked from, so that it ends when that one does."""
        self._close()
        self._process.returncode = 0

    def _close(self) -> None:
        for pipe in (self._jobs, self._answers, self._noise):
            pipe.close()

    def _exchange(self, outgoing: bytes, end: float) -> dict[str, Any]:
        left = memoryview(outgoing)
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            selector.register(self._noise, selectors.EVENT_READ)
            if left:
                selector.register(self._jobs, selectors.EVENT_WRITE)
            while True:
                ready = selector.select(max(0.0, end - time.monotonic()))
                if not ready and time.monotonic() >= end:
                    raise TimeoutError
                for key, _ in ready:
                    if key.fileobj is self._jobs:
                        left = self._write(left)
                        if not left:
                            selector.unregister(self._jobs)
                    elif key.fileobj is self._noise:
                        if not self._listen():
                            selector.unregister(self._noise)
                    elif not self._read():
                        raise self._dead()
                try:
                    frame = frames.unpack(self._buffer)
                except (DataError, ValueError) as error:
                    raise WorkerDied(str(error)) from error
                if frame is not None:
                    self._buffer.clear()
                    return frame[0]

    def _write(self, left: memoryview) -> memoryview:
        try:
            return left[os.write(self._jobs.fileno(), left[: _CHUNK * 16]) :]
        except BlockingIOError:
            return left
        except BrokenPipeError:
            # The answers' end says so too, and why.
            return left[:0]

    def _read(self) -> bool:
        chunk = os.read(self._answers.fileno(), _CHUNK)
        self._buffer += chunk
        return bool(chunk)

    def _dead(self) -> WorkerDied:
        self._process.kill()
        code = self._process.wait()
        self._listen()
        said = self._said[-1_000:].decode(errors="replace")
        return WorkerDied(f"ended with code {code}: {said}", alarmed=code == -signal.SIGALRM)

    def _listen(self) -> bool:
        """Passes on what libraries complain about; for whoever looks for it."""
        try:
            chunk = os.read(self._noise.fileno(), _CHUNK)
        except BlockingIOError:
            return True
        self._said = (self._said + chunk)[-_CHUNK:]
        for line in chunk.decode(errors="replace").splitlines():
            _LOG.debug("worker %d: %s", self._process.pid, line[:500])
        return bool(chunk)
