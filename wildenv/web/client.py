"""The web as tools see it: search, pages and pictures, recorded or replayed, cut off at a date.

Modes (`web.mode`): ``live`` asks the provider and keeps nothing; ``record`` answers from the store and asks the provider for what
is missing; ``refresh`` asks for everything again and overwrites; ``replay`` never touches the provider. All modes give the same
objects for the same answer, so that a recorded run replays byte for byte.

The client does not limit how long a provider takes, and an async call that is cancelled leaves its thread to finish.
"""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Generic, Literal, get_args

from PIL import Image

from wildenv.errors import CacheMiss, ConfigError, DataError, ToolError
from wildenv.images import FORMATS, decode
from wildenv.web.admission import Admission, Answer
from wildenv.web.cutoff import Decision, PageWithheld, apply_cutoff, check_undated
from wildenv.web.dates import is_relative
from wildenv.web.flight import SingleFlight
from wildenv.web.nearest import NearestRequests
from wildenv.web.providers.base import Provider
from wildenv.web.request import WEB_TOOLS, WebRequest, sha256
from wildenv.web.results import ImageHit, Page, Result, TextHit
from wildenv.web.store import Blob, Store

Mode = Literal["live", "record", "refresh", "replay"]


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Found(Generic[Result]):
    """What a search found.

    Attributes:
        results: Hits the agent may see, best first.
        decisions: One for every hit of the provider's answer, in its order.
        cached: True if the provider was not asked for this call. Depends on timing: keep it out of what is compared exactly.
    """

    results: tuple[Result, ...]
    decisions: tuple[Decision, ...]
    cached: bool


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page the agent may see; `decisions` holds the one about it, `cached` is as in `Found`."""

    page: Page
    decisions: tuple[Decision, ...]
    cached: bool


@dataclass(slots=True)
class Usage:
    """What was asked by one tool.

    Attributes:
        calls: Times the provider was asked.
        hits: Requests answered without asking it: from the store, or by a concurrent identical request.
        misses: Requests the store could not answer.
    """

    calls: int = 0
    hits: int = 0
    misses: int = 0


class WebClient:
    """One view of the web. Safe for threads.

    Args:
        provider: Who is asked. ``replay`` needs none; given one, it only looks at the name and version, to choose among the
            records of several providers. An attribute ``extractor`` of a provider (name and version of what makes pages of
            HTML) enters the key of pages.
        mode: ``live``, ``record``, ``refresh`` or ``replay``.
        store: Where records are; not used by ``live``.
        undated: ``keep`` or ``drop`` results whose date is unknown or ambiguous.
        overfetch: How many hits are asked for per hit wanted, because the cutoff removes some.
        clock: Says when an answer with relative dates ("2 days ago") was obtained; that moment is recorded with the answer.

    Raises:
        ConfigError: If a value is not valid or the mode lacks its provider or store.
    """

    def __init__(
        self,
        provider: Provider | None = None,
        mode: str = "live",
        store: Store | None = None,
        undated: str = "keep",
        overfetch: int = 4,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        if mode not in get_args(Mode):
            raise ConfigError(f"web.mode={mode!r} is not one of {', '.join(get_args(Mode))}")
        if mode != "replay" and provider is None:
            raise ConfigError(f"web.mode={mode} asks a provider and none is set; set web.provider, or use web.mode=replay")
        if mode != "live" and store is None:
            raise ConfigError(f"web.mode={mode} needs a store; set web.store to a store or pack file, or use web.mode=live")
        if mode in ("record", "refresh") and store is not None and store.read_only:
            raise ConfigError(f"web.mode={mode} writes and web.store is read-only; set another web.store or use web.mode=replay")
        if overfetch < 1:
            raise ConfigError(f"web.overfetch={overfetch} must be at least 1")
        self.mode = mode
        self.undated = check_undated(undated)
        self.overfetch = overfetch
        self.admission = Admission()
        self._provider = provider
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._flights = SingleFlight[tuple[Answer, bool]]()
        self._usage = {tool: Usage() for tool in WEB_TOOLS}
        self._digest: str | None = None
        self._sources: dict[str, tuple[str, str, str]] = {}
        self._nearest: dict[str, NearestRequests] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> WebClient:
        # Gymnasium copies the arguments an environment was made with; a web is shared, like a file.
        return self

    @property
    def usage(self) -> dict[str, Usage]:
        """A copy of the counters by tool."""
        with self._lock:
            return {tool: Usage(one.calls, one.hits, one.misses) for tool, one in self._usage.items()}

    @property
    def digest(self) -> str:
        """What identifies this web.

        In ``replay`` the content digest of the store or pack, as it was when first asked for; else the provider's ``digest`` if
        it has one (a generated web does); else ``name:version``, which identifies a live service but not what it says.
        """
        if self.mode == "replay":
            if self._digest is None:
                self._digest = self._kept.content_digest(WEB_TOOLS)
            return self._digest
        return str(getattr(self._asked, "digest", f"{self._asked.name}:{self._asked.version}"))

    def text_search(self, query: str, k: int, cutoff: date | None) -> Found[TextHit]:
        """Searches pages.

        Args:
            query: What to look for; Unicode form and white space are normalised.
            k: Hits wanted, at least 1.
            cutoff: Last visible day; None hides nothing.

        Raises:
            ToolError: If the query is empty or `k` is below 1.
            CacheMiss: In ``replay``, if the request is not recorded.
            ProviderError: If the provider failed.
        """
        request = self._search_request("text_search", query, k, cutoff)
        limit = request.params["limit"]
        answer, cached = self._resolve(request, lambda: self._hits(self._asked.text_search(request.text, limit, cutoff), limit))
        return self._found(TextHit.from_dict, answer, k, cutoff, cached)

    def image_search(self, query: str, k: int, cutoff: date | None) -> Found[ImageHit]:
        """Searches pictures; arguments and errors as in `text_search`. The pictures themselves are not fetched."""
        request = self._search_request("image_search", query, k, cutoff)
        limit = request.params["limit"]
        answer, cached = self._resolve(request, lambda: self._hits(self._asked.image_search(request.text, limit, cutoff), limit))
        return self._found(ImageHit.from_dict, answer, k, cutoff, cached)

    def fetch_page(self, url: str, cutoff: date | None) -> Fetched:
        """Fetches a page.

        Raises:
            PageWithheld: If the cutoff hides the page; a `ToolError` that carries the decision.
            ToolError: If the address is empty or there is no such page.
            CacheMiss: In ``replay``, if the request is not recorded.
            ProviderError: If the provider failed.
        """
        request = self._request("fetch_page", {"url": _given(url, "url")}, cutoff)

        def ask() -> Answer:
            page = self._asked.fetch_page(request.text, cutoff)
            return Answer({"page": page.to_dict(), **self._moment([page.published])})

        answer, cached = self._resolve(request, ask)
        page = Page.from_dict(answer.response["page"])
        kept, decisions = apply_cutoff([page], cutoff, self.undated, _reference(answer))
        if not kept:
            raise PageWithheld(decisions[0])
        return Fetched(page, tuple(decisions), cached)

    def fetch_image(self, url: str) -> Image.Image:
        """Fetches a picture: upright RGB, in the size it was published in.

        Raises:
            ToolError: If the address is empty, there is no such picture, or the bytes are not a picture that can be shown.
            CacheMiss: In ``replay``, if the request is not recorded.
            ProviderError: If the provider failed.
            DataError: If the recorded bytes are damaged.
        """
        request = self._request("fetch_image", {"url": _given(url, "url")}, None)

        decoded: list[Image.Image] = []

        def ask() -> Answer:
            data = self._asked.fetch_image(request.text)
            try:
                decoded[:] = [decode(data)]
            except DataError as error:
                raise ToolError(f"the picture {request.text} cannot be shown: {error}") from error
            media_type = Image.open(io.BytesIO(data), formats=FORMATS).get_format_mimetype() or "application/octet-stream"
            return Answer({"blob": sha256(data), "media_type": media_type}, data, media_type)

        answer, _ = self._resolve(request, ask)
        if decoded:
            return decoded[0]
        return decode(self._kept.blob(answer.response["blob"]).data if answer.blob is None else answer.blob)

    async def atext_search(self, query: str, k: int, cutoff: date | None) -> Found[TextHit]:
        """`text_search` in a thread."""
        return await asyncio.to_thread(self.text_search, query, k, cutoff)

    async def aimage_search(self, query: str, k: int, cutoff: date | None) -> Found[ImageHit]:
        """`image_search` in a thread."""
        return await asyncio.to_thread(self.image_search, query, k, cutoff)

    async def afetch_page(self, url: str, cutoff: date | None) -> Fetched:
        """`fetch_page` in a thread."""
        return await asyncio.to_thread(self.fetch_page, url, cutoff)

    async def afetch_image(self, url: str) -> Image.Image:
        """`fetch_image` in a thread."""
        return await asyncio.to_thread(self.fetch_image, url)

    @property
    def _asked(self) -> Provider:
        if self._provider is None or self.mode == "replay":
            raise ConfigError("web.mode=replay never asks a provider; set web.mode=record to fill gaps")
        return self._provider

    @property
    def _kept(self) -> Store:
        if self._store is None:
            raise ConfigError(f"web.mode={self.mode} has no store; set web.store")
        return self._store

    def _search_request(self, tool: str, query: str, k: int, cutoff: date | None) -> WebRequest:
        if k < 1:
            raise ToolError(f"k={k} must be at least 1")
        return self._request(tool, {"query": _given(query, "query"), "limit": k * self.overfetch}, cutoff)

    def _request(self, tool: str, params: dict[str, Any], cutoff: date | None) -> WebRequest:
        provider, version, extractor = self._source(tool)
        return WebRequest(tool, provider, version, params, cutoff, extractor)

    def _source(self, tool: str) -> tuple[str, str, str]:
        """Returns name, version and extractor that requests of a tool are recorded under."""
        if self._provider is not None:
            extractor = str(getattr(self._provider, "extractor", "")) if tool == "fetch_page" else ""
            return self._provider.name, self._provider.version, extractor
        if tool not in self._sources:
            recorded = self._kept.sources(tool)
            if len(recorded) > 1:
                names = ", ".join(f"{name} {version} {extractor}".strip() for name, version, extractor in recorded)
                raise ConfigError(f"web.store holds {tool} by several providers ({names}); set web.provider to choose one")
            if not recorded:
                self._count(tool, misses=1)
                raise CacheMiss(f"nothing is recorded for {tool}; set web.mode=record to record it")
            self._sources[tool] = recorded[0]
        return self._sources[tool]

    def _hits(self, hits: Sequence[TextHit | ImageHit], limit: int) -> Answer:
        hits = hits[:limit]
        return Answer({"results": [hit.to_dict() for hit in hits], **self._moment([hit.published for hit in hits])})

    def _found(
        self, read: Callable[[Mapping[str, Any]], Result], answer: Answer, k: int, cutoff: date | None, cached: bool
    ) -> Found[Result]:
        hits = [read(row) for row in answer.response["results"]]
        kept, decisions = apply_cutoff(hits, cutoff, self.undated, _reference(answer))
        return Found(tuple(kept[:k]), tuple(decisions), cached)

    def _moment(self, dates: list[str | None]) -> dict[str, str]:
        """Returns when the answer was obtained if its dates mean nothing without; otherwise the same content has one digest."""
        return {"asked": self._clock().isoformat(timespec="seconds")} if any(map(is_relative, dates)) else {}

    def _resolve(self, request: WebRequest, ask: Callable[[], Answer]) -> tuple[Answer, bool]:
        """Answers a request from the store or the provider, as the mode says; an absent thing raises `ToolError`."""
        key = request.key
        answer = self._stored(request, key) if self.mode in ("replay", "record") else None
        cached = answer is not None
        if answer is None:
            if self.mode == "replay":
                self._count(request.tool, misses=1)
                raise CacheMiss(self._explain(request))
            (answer, stored), led = self._flights.run(key, lambda: self._lead(request, key, ask))
            cached = stored or not led
        self._count(request.tool, hits=int(cached))
        if "absent" in answer.response:
            raise ToolError(answer.response["absent"])
        return answer, cached

    def _stored(self, request: WebRequest, key: str) -> Answer | None:
        response = self._kept.get(request.tool, key)
        return None if response is None else Answer(response)

    def _lead(self, request: WebRequest, key: str, ask: Callable[[], Answer]) -> tuple[Answer, bool]:
        """Returns the answer, and whether it was in the store: it may have been put there since this request looked."""
        answer = self._stored(request, key) if self.mode == "record" else None
        return (self._obtain(request, key, ask), False) if answer is None else (answer, True)

    def _obtain(self, request: WebRequest, key: str, ask: Callable[[], Answer]) -> Answer:
        def counted() -> Answer:
            self._count(request.tool, calls=1)
            try:
                return ask()
            except ToolError as error:
                return Answer({"absent": str(error)})

        if self.mode == "live":
            return counted()
        self._count(request.tool, misses=1)
        answer, admitted = self.admission.obtain(counted)
        if admitted:
            blob = None if answer.blob is None else Blob(answer.blob, answer.media_type)
            self._kept.put(request.tool, key, request.to_dict(), answer.response, blob)
        return answer

    def _count(self, tool: str, calls: int = 0, hits: int = 0, misses: int = 0) -> None:
        with self._lock:
            usage = self._usage[tool]
            usage.calls += calls
            usage.hits += hits
            usage.misses += misses

    def _explain(self, request: WebRequest) -> str:
        advice = "set web.mode=record to record it"
        if request.tool not in self._nearest:
            recorded = (WebRequest.from_dict(row) for _, row in self._kept.requests(request.tool))
            self._nearest[request.tool] = NearestRequests(recorded)
        nearest = self._nearest[request.tool].find(request)
        start = f"{request.tool} {request.text!r} is not recorded"
        if nearest is None:
            return f"{start}, nor is anything else of {request.tool}; {advice}"
        differences = request.difference(nearest).items()
        differing = ", ".join(f"{name} ({mine!r} asked, {theirs!r} recorded)" for name, (mine, theirs) in differences)
        return f"{start}; the nearest record is {nearest.text!r} and differs in {differing}; {advice}"


def _given(text: str, name: str) -> str:
    if not text.strip():
        raise ToolError(f"{name} is empty")
    return text.strip()


def _reference(answer: Answer) -> datetime | None:
    asked = answer.response.get("asked")
    return None if asked is None else datetime.fromisoformat(asked)
