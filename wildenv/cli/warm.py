"""Lists of requests, and asking for all of them once so that the store holds the answers."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from wildenv.budget import Limits
from wildenv.construct import day_of
from wildenv.errors import ConfigError, DataError, InfrastructureError, ToolError, WildenvError, told
from wildenv.files import read_text
from wildenv.progress import progress_bar
from wildenv.strict_json import loads
from wildenv.tools.image_search import ImageSearch
from wildenv.tools.text_search import TextSearch
from wildenv.web.client import WebClient
from wildenv.web.deadline import tool_deadline

_LOOKED_AT = 20
_K = {
    "text_search": TextSearch().default_k,
    "image_search": Limits().images_per_search + ImageSearch().spare,
    "news_search": TextSearch().default_k,
}
"""Hits that the tools ask for when nobody says otherwise; the number is part of a request."""

_FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "text_search": (("query", "cutoff"), ("k",)),
    "image_search": (("query", "cutoff"), ("k", "pictures")),
    "news_search": (("query", "day"), ("k",)),
    "fetch_page": (("url", "cutoff"), ()),
    "fetch_image": (("url",), ()),
}
"""Fields of a request by tool: those it needs and those it may have."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request of a list: its tool, its other fields, read, and its line."""

    tool: str
    fields: Mapping[str, Any]
    line: int

    @property
    def text(self) -> str:
        """Its query or address."""
        return str(self.fields.get("query", self.fields.get("url")))


@dataclass(frozen=True, slots=True)
class Failed:
    """A request without an answer, which the next run asks again: its line, tool and text, and why."""

    line: int
    tool: str
    text: str
    reason: str


@dataclass(slots=True)
class Warmed:
    """What became of a list.

    Attributes:
        answered: Requests with an answer, empty ones included.
        refused: Requests whose thing does not exist, is hidden by the cutoff or cannot be had now.
        failed: Requests that could not be asked, or that a service failed to answer.
    """

    answered: int = 0
    refused: int = 0
    failed: list[Failed] = field(default_factory=list)


def read_requests(path: str | Path) -> list[Wanted]:
    """Reads a list: one JSON object a line, with ``tool`` and the fields of that tool.

    ``cutoff`` must be there for searches and pages, as an ISO date or null, because it is part of the request. ``k`` is by
    default what the agent's tools ask for; ``pictures`` (true by default) also fetches what an image search finds.

    Raises:
        ConfigError: If the file is missing or empty.
        DataError: If a line is no request; the message names it.
    """
    path = Path(path)
    if not path.is_file():
        raise ConfigError(f"--requests {path}: there is no such file")
    found: list[Wanted] = []
    for number, line in enumerate(read_text(path, "--requests").split("\n"), 1):
        if line.strip():
            try:
                found.append(_wanted(loads(line), number))
            except (ValueError, TypeError) as error:
                raise DataError(f"{path.name}, line {number}: {error}") from error
    if not found:
        raise ConfigError(f"--requests {path}: there is no request in it")
    return found


def _wanted(row: Any, line: int) -> Wanted:
    if not isinstance(row, dict) or row.get("tool") not in _FIELDS:
        raise ValueError(f"a request is an object whose 'tool' is one of {', '.join(_FIELDS)}")
    needed, allowed = _FIELDS[row["tool"]]
    given = {name: value for name, value in row.items() if name != "tool"}
    missing = [name for name in needed if name not in given]
    unknown = sorted(set(given) - {*needed, *allowed})
    if missing or unknown:
        raise ValueError(f"{row['tool']} with missing fields {missing} and unknown fields {unknown}")
    for name in ("query", "url"):
        if name in given and not (isinstance(given[name], str) and given[name].strip()):
            raise ValueError(f"{name!r} must be a text that is not empty")
    for name in ("cutoff", "day"):
        if given.get(name) is not None or name == "day" in needed:
            given[name] = _day(name, given[name])
    if "k" in allowed:
        given.setdefault("k", _K[row["tool"]])
        if isinstance(given["k"], bool) or not isinstance(given["k"], int) or given["k"] < 1:
            raise ValueError("'k' must be a whole number of at least 1")
    if "pictures" in allowed and not isinstance(given.setdefault("pictures", True), bool):
        raise ValueError("'pictures' must be true or false")
    return Wanted(row["tool"], given, line)


def _day(name: str, value: Any) -> date:
    if not isinstance(value, str):
        raise ValueError(f'{name!r} is {value!r}; write a date as "YYYY-MM-DD"')
    try:
        return day_of(value)
    except ValueError as error:
        raise ValueError(f"{name!r}: {error}") from error


def warm(client: WebClient, wanted: Sequence[Wanted], concurrency: int, deadline_s: float | None, max_failed: float) -> Warmed:
    """Asks for everything on a list, several requests at once; what the store holds already is not asked for.

    Args:
        client: A client that records.
        wanted: The list.
        concurrency: Requests at once.
        deadline_s: Seconds of wall clock for each.
        max_failed: Share of failed requests above which to stop, looked at from the twentieth on.

    Raises:
        ConfigError: If a number is out of range.
        InfrastructureError: If too many requests failed; the message gives the last reason.
    """
    if concurrency < 1:
        raise ConfigError(f"--concurrency {concurrency} must be at least 1")
    if not 0 <= max_failed <= 1:
        raise ConfigError(f"--max-failed {max_failed} must be from 0 to 1")
    warmed = Warmed()
    left = iter(wanted)
    running: dict[Future[bool], Wanted] = {}

    def one(request: Wanted) -> bool:
        with tool_deadline(deadline_s):
            return _ask(client, request)

    with ThreadPoolExecutor(concurrency) as pool, progress_bar("record", len(wanted), "requests") as bar:
        try:
            while True:
                while len(running) < concurrency and (request := next(left, None)) is not None:
                    running[pool.submit(contextvars.copy_context().run, one, request)] = request
                if not running:
                    return warmed
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    _count(warmed, running.pop(future), future)
                    bar.update()
                ended = warmed.answered + warmed.refused + len(warmed.failed)
                if ended >= _LOOKED_AT and len(warmed.failed) > max_failed * ended:
                    raise InfrastructureError(
                        f"{len(warmed.failed)} of {ended} requests failed, more than --max-failed {max_failed}; the last: "
                        f"{warmed.failed[-1].reason}"
                    )
        finally:
            for future in running:
                future.cancel()


def _count(warmed: Warmed, request: Wanted, future: Future[bool]) -> None:
    try:
        if future.result():
            warmed.answered += 1
        else:
            warmed.refused += 1
    except Exception as error:  # noqa: BLE001 - whatever one request runs into, the others are asked
        reason = str(error) if isinstance(error, WildenvError) else told(error)
        warmed.failed.append(Failed(request.line, request.tool, request.text, reason))


def _ask(client: WebClient, request: Wanted) -> bool:
    """Asks for one request, and the pictures it leads to; says whether there is something to be seen."""
    given = request.fields
    asks: dict[str, Callable[[], Any]] = {
        "text_search": lambda: client.text_search(given["query"], given["k"], given["cutoff"]),
        "news_search": lambda: client.news_search(given["query"], given["k"], given["day"]),
        "fetch_page": lambda: client.fetch_page(given["url"], given["cutoff"]),
        "fetch_image": lambda: client.fetch_image(given["url"]),
        "image_search": lambda: _images(client, given),
    }
    try:
        asks[request.tool]()
    except ToolError:
        return False
    return True


def _images(client: WebClient, given: Mapping[str, Any]) -> None:
    found = client.image_search(given["query"], given["k"], given["cutoff"])
    if given["pictures"]:
        client.fetch_images([hit.url for hit in found.results])
