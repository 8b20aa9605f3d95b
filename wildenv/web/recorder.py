"""Answers requests from the store or from those who are asked, as the mode says, and keeps what may be kept.

Modes (`web.mode`): ``live`` asks and keeps nothing; ``record`` answers from the store and asks for what is missing;
``refresh`` asks for everything once again and overwrites, where an address that cannot be had now keeps its old record;
``replay`` never asks.

Errors are never kept. That a request was made and got no answer, because an address could not be had, is: such a *gap* holds no
error, only the request. A gap makes a replay say what the recording said, and one run tell every episode the same. `record` tries
the gaps of earlier runs again only if told to (`web.retry_gaps`).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, get_args

from wildenv.errors import CacheMiss, ConfigError, DataError, DeadlineExceeded, ProviderError, ToolError, Unavailable, WebError
from wildenv.secrets import scrub, scrubbed
from wildenv.web.admission import Admission, Answer
from wildenv.web.flight import SingleFlight
from wildenv.web.nearest import NearestRequests
from wildenv.web.request import WEB_TOOLS, WebRequest
from wildenv.web.schema import OVERFETCH_NOTE, noted_overfetch
from wildenv.web.store import Blob, Store

Mode = Literal["live", "record", "refresh", "replay"]

_SHOWN = 100
"""Characters of a value that a message shows."""

OVERFETCH = 4
"""Hits asked for per hit wanted, unless somebody says otherwise."""


@dataclass(slots=True)
class Usage:
    """What was asked by one tool.

    Attributes:
        calls: Times a provider was asked.
        hits: Requests answered without asking: from the store, or by a concurrent identical request.
        misses: Requests the store could not answer.
    """

    calls: int = 0
    hits: int = 0
    misses: int = 0


class Recorder:
    """A mode, a store, and the counters of one client. Safe for threads.

    Args:
        mode: One of the four.
        store: Where records are; not used by ``live``.
        retry_gaps: Whether ``record`` asks again for what earlier runs could not get.

    Raises:
        ConfigError: If a value is not valid or the mode lacks its store.
    """

    def __init__(self, mode: str, store: Store | None, retry_gaps: bool = False) -> None:
        if mode not in get_args(Mode):
            raise ConfigError(f"web.mode={mode!r} is not one of {', '.join(get_args(Mode))}")
        if mode != "live" and store is None:
            raise ConfigError(f"web.mode={mode} needs a store; set web.store to a store or pack file, or use web.mode=live")
        if mode in ("record", "refresh") and store is not None and store.read_only:
            raise ConfigError(f"web.mode={mode} writes and web.store is read-only; set another web.store or use web.mode=replay")
        self.mode = mode
        self.admission = Admission()
        self._store = store
        self._retry_gaps = retry_gaps
        self._lock = threading.Lock()
        self._flights = SingleFlight[tuple[Answer, bool]]()
        self._usage = {tool: Usage() for tool in WEB_TOOLS}
        self._failures: dict[str, Counter[str]] = {tool: Counter() for tool in WEB_TOOLS}
        self._settled: set[str] = set()
        self._nearest: dict[str, NearestRequests] = {}

    @property
    def kept(self) -> Store:
        """The store.

        Raises:
            ConfigError: If there is none.
        """
        if self._store is None:
            raise ConfigError(f"web.mode={self.mode} has no store; set web.store")
        return self._store

    def overfetch(self, wanted: int | None) -> int:
        """Returns the factor to use; a store remembers the first one it was recorded with, for those who replay it."""
        known = None if self._store is None else noted_overfetch(self._store.meta())
        if self._store is not None and known is None and self.mode in ("record", "refresh"):
            self._store.set_meta({OVERFETCH_NOTE: str(wanted or OVERFETCH)})
        remembered = known if known is not None and self.mode == "replay" else OVERFETCH
        return remembered if wanted is None else wanted

    @property
    def usage(self) -> dict[str, Usage]:
        """A copy of the counters by tool."""
        with self._lock:
            return {tool: Usage(one.calls, one.hits, one.misses) for tool, one in self._usage.items()}

    @property
    def failures(self) -> dict[str, dict[str, int]]:
        """How often what went wrong, by tool and kind; tools without failures are left out."""
        with self._lock:
            return {tool: dict(sorted(kinds.items())) for tool, kinds in self._failures.items() if kinds}

    def count(self, tool: str, calls: int = 0, hits: int = 0, misses: int = 0) -> None:
        """Adds to the counters of a tool."""
        with self._lock:
            usage = self._usage[tool]
            usage.calls += calls
            usage.hits += hits
            usage.misses += misses

    def resolve(self, request: WebRequest, ask: Callable[[], Answer], others: Iterable[WebRequest] = ()) -> tuple[Answer, bool]:
        """Answers a request.

        Args:
            request: What is asked.
            ask: Asks the provider; raises `ToolError` for a thing that does not exist.
            others: Requests whose record ``replay`` takes, the first there is, where this one has none; not looked at before.

        Returns:
            The answer, and whether the provider was not asked for this call.

        Raises:
            ToolError: If the thing does not exist; `Unavailable` if it could not be had.
            CacheMiss: In ``replay``, if the request is not recorded.
            ProviderError: If the provider failed.
            DeadlineExceeded: If the tool call ran out of time.
        """
        key = request.key
        with self.watched(request.tool):
            answer = self._stored(request, key)
            if answer is None and self.mode == "replay":
                answer = next(filter(None, (self._stored(other, other.key) for other in others)), None)
            cached = answer is not None
            if answer is None:
                if self.mode == "replay":
                    self.count(request.tool, misses=1)
                    raise CacheMiss(self._explain(request))
                (answer, stored), led = self._flights.run(key, lambda: self._lead(request, key, ask))
                cached = stored or not led
            self.count(request.tool, hits=int(cached))
            if "absent" in answer.response:
                raise ToolError(answer.response["absent"])
        return answer, cached

    @contextmanager
    def watched(self, tool: str) -> Iterator[None]:
        """Counts what goes wrong inside as a failure of a tool."""
        try:
            yield
        except (Unavailable, ProviderError) as error:
            self._fail(tool, error.kind)
            raise
        except DeadlineExceeded:
            self._fail(tool, "deadline")
            raise
        except CacheMiss:
            self._fail(tool, "not recorded")
            raise
        except (WebError, DataError):
            # The store cannot be written or is damaged, or no worker starts that could read a page.
            self._fail(tool, "failed")
            raise
        except ToolError:
            self._fail(tool, "absent")
            raise

    def _fail(self, tool: str, kind: str) -> None:
        with self._lock:
            self._failures[tool][kind] += 1

    def _stored(self, request: WebRequest, key: str) -> Answer | None:
        """Returns what the store says, if this mode listens to it; raises `Unavailable` for a gap."""
        if self.mode == "live" or (self.mode == "refresh" and key not in self._settled):
            return None
        response = self.kept.get(request.tool, key)
        if response is not None:
            return Answer(response)
        if self.kept.has_gap(request.tool, key) and (self.mode == "replay" or not self._retry_gaps or key in self._settled):
            raise Unavailable(request.text, "gap")
        return None

    def _lead(self, request: WebRequest, key: str, ask: Callable[[], Answer]) -> tuple[Answer, bool]:
        """Returns the answer, and whether it was in the store: it may have been put there since this request looked."""
        answer = self._stored(request, key)
        return (self._obtain(request, key, ask), False) if answer is None else (answer, True)

    def _obtain(self, request: WebRequest, key: str, ask: Callable[[], Answer]) -> Answer:
        def counted() -> Answer:
            self.count(request.tool, calls=1)
            try:
                answer = ask()
            except Unavailable:
                raise
            except ToolError as error:
                return Answer({"absent": scrub(str(error))})
            except ProviderError as error:
                said = scrub(str(error))
                if said == str(error):
                    raise
                # Without its cause, which says it as well.
                raise ProviderError(said, error.kind) from None
            return replace(answer, response=scrubbed(answer.response))

        if self.mode == "live":
            return counted()
        self.count(request.tool, misses=1)
        try:
            answer, admitted = self.admission.obtain(counted)
            if not admitted:
                raise _unsteady(request)
        except Unavailable:
            response = self.kept.get(request.tool, key)
            if response is None:
                self.kept.note_gap(request.tool, key, request.to_dict())
            self._settled.add(key)
            if response is None:
                raise
            return Answer(response)
        blob = None if answer.blob is None else Blob(answer.blob, answer.media_type)
        self.kept.put(request.tool, key, request.to_dict(), answer.response, blob)
        self._settled.add(key)
        return answer

    def _explain(self, request: WebRequest) -> str:
        advice = "set web.mode=record to record it"
        if request.tool not in self._nearest:
            recorded = (WebRequest.from_dict(row) for _, row in self.kept.requests(request.tool))
            self._nearest[request.tool] = NearestRequests(recorded)
        nearest = self._nearest[request.tool].find(request)
        start = f"{request.tool} {_short(request.text)} is not recorded"
        if nearest is None:
            return f"{start}, nor is anything else of {request.tool}; {advice}"
        differing = [
            f"{name.removeprefix('params.')}={_short(theirs)} instead of {_short(mine)}"
            for name, (mine, theirs) in request.difference(nearest).items()
            if name not in ("params.query", "params.url")
        ]
        found = [] if nearest.text == request.text else [f"is {_short(nearest.text)}"]
        found += [f"has {', '.join(differing)}"] if differing else []
        return f"{start}; the nearest record {' and '.join(found)}; {advice}"


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 4]}...{shown[-1]}"


def _unsteady(request: WebRequest) -> Unavailable | ProviderError:
    """What to raise for an answer that was empty in two ways."""
    if request.tool in ("fetch_page", "fetch_image"):
        return Unavailable(request.text, "unsteady")
    return ProviderError(f"{request.provider} gave two different empty answers to {request.tool} {request.text!r}", "unsteady")
