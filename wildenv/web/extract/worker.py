"""The process that reads documents: ``python -m wildenv.web.extract.worker MEMORY_MB``.

It takes jobs from its standard input and answers on its standard output until the input ends, which it does when the process
that started it ends in whatever way; an alarm ends it if it is then stuck in a job. It limits its own memory where the system
is Linux. It is not a sandbox: it runs with the rights of whoever started it, though without their environment variables.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from wildenv.errors import DataError
from wildenv.web.extract import frames
from wildenv.web.results import Page

MOST_CHARS = 5_000_000
"""Characters of a page's text."""

_JOBS = 2_000
"""Jobs of one process: libraries keep some of what they have seen."""

_GRACE_S = 5.0
"""How much later than the time limit of a job the alarm is: whoever gave the job ends it earlier."""


def main(memory_mb: int) -> None:
    """Answers jobs until there are no more."""
    jobs, answers = _private_pipes()
    # Only now, so that nothing that a library says while it loads ends up among the answers.
    from wildenv.web.extract.html import extract_html
    from wildenv.web.extract.pdf import extract_pdf
    from wildenv.web.extract.text import extract_text

    readers: dict[str, Callable[[bytes, str, str | None], Page]] = {
        "html": extract_html,
        "text": extract_text,
        "pdf": lambda data, url, charset: extract_pdf(data, url),
    }
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    at_rest = _address_space()
    room = memory_mb * 1024 * 1024
    if at_rest:
        resource.setrlimit(resource.RLIMIT_AS, (at_rest + room, at_rest + room))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _send(answers, {"ready": True})
    for count in range(1, _JOBS + 1):
        frame = frames.read(jobs)
        if frame is None:
            return
        job, data = frame
        signal.setitimer(signal.ITIMER_REAL, job["seconds"] + _GRACE_S)
        answer = _answer(lambda job=job, data=data: readers[job["kind"]](data, job["url"], job["charset"]))  # type: ignore[misc]
        signal.setitimer(signal.ITIMER_REAL, 0)
        last = count == _JOBS or _address_space() - at_rest > room // 2
        _send(answers, {**answer, "last": last})
        if last:
            return


def _answer(extract: Callable[[], Page]) -> dict[str, Any]:
    """Returns the page, or what is wrong with the document."""
    try:
        page = extract()
    except DataError as error:
        return {"failed": "unreadable", "detail": str(error)}
    except MemoryError:
        return {"failed": "unreadable", "detail": "the document needs more memory than it may take"}
    except Exception:  # noqa: BLE001  (whatever a document does to a library is that document's failure)
        return {"failed": "unreadable", "detail": traceback.format_exc()[-2_000:]}
    if len(page.text) > MOST_CHARS:
        return {"failed": "too large", "detail": f"its text has {len(page.text)} characters"}
    return {"page": page.to_dict()}


def _send(answers: BinaryIO, header: dict[str, Any]) -> None:
    answers.write(frames.pack(header))
    answers.flush()


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Returns the pipes of jobs and answers, out of the way of libraries that read or print."""
    jobs, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return jobs, answers


def _address_space() -> int:
    """Returns the bytes of this process's address space; 0 where the system does not say."""
    if sys.platform != "linux":
        return 0
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    main(int(sys.argv[1]))
