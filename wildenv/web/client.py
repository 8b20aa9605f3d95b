"""The web as tools see it: search, pages and pictures, recorded or replayed, cut off at a date.

All modes (`wildenv.web.recorder`) give the same objects for the same answer, so that a recorded run replays byte for byte. How
long a tool call may take is its deadline's to say (`wildenv.web.deadline`); a cancelled async call leaves its thread to finish.
"""

from __future__ import annotations

import asyncio
import contextvars
import io
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from PIL import Image

from wildenv.errors import CacheMiss, ConfigError, DataError, ToolError
from wildenv.images import FORMATS
from wildenv.secrets import scrub
from wildenv.web.admission import Answer
from wildenv.web.cutoff import PageWithheld, apply_cutoff, check_undated
from wildenv.web.dates import is_relative
from wildenv.web.found import Fetched, Found
from wildenv.web.net.spending import Metered, Spending
from wildenv.web.picture import Picture, opened
from wildenv.web.providers.base import NewsProvider, Parts, Provider, Reader, Source
from wildenv.web.recorder import Recorder, Usage
from wildenv.web.request import WEB_TOOLS, WebRequest, canonical_json, sha256
from wildenv.web.results import ImageHit, NewsHit, Page, Result, TextHit
from wildenv.web.store import Store

_MOST_HITS = 100
"""A search that asked for more is not looked for in place of one that is not recorded."""

_AT_ONCE = 8
"""Pictures of one search that are fetched at the same time: all of them, so that slow ones cost the time of the slowest."""


def _now() -> datetime:
    return datetime.now(UTC)


class WebClient:
    """One view of the web. Safe for threads.

    Args:
        provider: Who is asked: one provider of everything, or `Parts`. ``replay`` needs none; given one, it only looks at names
            and versions. An attribute ``extractor`` of a page provider (name and version of what makes pages of HTML) enters the
            key of pages.
        mode: ``live``, ``record``, ``refresh`` or ``replay``.
        store: Where records are; not used by ``live``.
        undated: ``keep`` or ``drop`` results whose date is unknown or ambiguous.
        overfetch: How many hits are asked for per hit wanted, because the cutoff removes some. None is `OVERFETCH`, and in
            ``replay`` what the store was recorded with.
        retry_gaps: Whether ``record`` asks again for addresses that earlier runs could not get.
        prefer: Names of providers, to choose among the records of several in ``replay`` without a provider at hand.
        clock: Says when an answer with relative dates ("2 days ago") was obtained; that moment is recorded with the answer.

    Raises:
        ConfigError: If a value is not valid or the mode lacks its provider or store.
    """

    def __init__(
        self,
        provider: Provider | Parts | None = None,
        mode: str = "live",
        store: Store | None = None,
        undated: str = "keep",
        overfetch: int | None = None,
        retry_gaps: bool = False,
        prefer: Sequence[str] = (),
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self._recorder = Recorder(mode, store, retry_gaps)
        if mode != "replay" and provider is None:
            raise ConfigError(f"web.mode={mode} asks a provider and none is set; set web.search, or use web.mode=replay")
        if overfetch is not None and overfetch < 1:
            raise ConfigError(f"web.overfetch={overfetch} must be at least 1")
        self.mode = mode
        self.undated = check_undated(undated)
        self.overfetch = self._recorder.overfetch(overfetch)
        self.admission = self._recorder.admission
        self.provider = provider
        self._parts = None if provider is None else Parts.of(provider)
        self._prefer = tuple(prefer)
        self._clock = clock
        self._digest: str | None = None
        self._readers: list[Reader] = []
        self._sources: dict[str, tuple[str, str, str]] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> WebClient:
        # Gymnasium copies the arguments an environment was made with; a web is shared, like a file.
        return self

    @property
    def usage(self) -> dict[str, Usage]:
        """A copy of the counters by tool."""
        return self._recorder.usage

    @property
    def failures(self) -> dict[str, dict[str, int]]:
        """How often what went wrong, by tool and kind."""
        return self._recorder.failures

    def report(self) -> dict[str, Any]:
        """Returns what this client asked for and what it cost, as JSON values.

        Returns:
            ``mode``; ``usage`` and ``failures`` by tool; ``services``, what each provider that counts says it spent.
        """
        asked: list[Source | Reader] = []
        if self._parts is not None and self.mode != "replay":
            asked = [self._parts.search, self._parts.pages, self._parts.pictures, *self._readers]
        services: dict[str, dict[str, Any]] = {}
        counted: list[Spending] = []
        for source in asked:
            # Providers that fetch from the same hosts share their counters.
            if isinstance(source, Metered) and not any(source.spending is one for one in counted):
                counted.append(source.spending)
                spent = source.spending.to_dict()
                before = services.get(source.name, dict.fromkeys(spent, 0))
                services[source.name] = {what: before[what] + amount for what, amount in spent.items()}
        usage = {tool: asdict(one) for tool, one in self.usage.items() if one.calls or one.hits or one.misses}
        return {"mode": self.mode, "usage": usage, "failures": self.failures, "services": services}

    @property
    def digest(self) -> str:
        """What identifies this web.

        In ``replay`` the content digest of the store or pack, as it was when first asked for; else the provider's ``digest`` if
        it has one (a generated web does); else names and versions, which identify live services but not what they say.
        """
        if self.mode == "replay":
            if self._digest is None:
                self._digest = self._recorder.kept.content_digest(WEB_TOOLS)
            return self._digest
        parts = self._asked
        named = {f"{one.name}:{one.version}": None for one in (parts.search, parts.pages, parts.pictures)}
        return str(getattr(self.provider, "digest", "+".join(named)))

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
        return self._search(
            "text_search", TextHit.from_dict, lambda *asked: self._asked.search.text_search(*asked), query, k, cutoff
        )

    def image_search(self, query: str, k: int, cutoff: date | None) -> Found[ImageHit]:
        """Searches pictures; arguments and errors as in `text_search`. The pictures themselves are not fetched."""
        return self._search(
            "image_search", ImageHit.from_dict, lambda *asked: self._asked.search.image_search(*asked), query, k, cutoff
        )

    def news_search(self, query: str, k: int, day: date) -> Found[NewsHit]:
        """Searches the news of one day, which is also the cutoff; arguments and errors as in `text_search`.

        Raises:
            ConfigError: If the provider has no news.
        """

        def ask(words: str, limit: int, cutoff: date | None) -> Sequence[NewsHit]:
            search = self._asked.search
            if not isinstance(search, NewsProvider):
                raise ConfigError(f"web.search={search.name} has no news search; set web.search to a provider that has")
            return search.news_search(words, limit, day)

        return self._search("news_search", NewsHit.from_dict, ask, query, k, day)

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
            page = self._asked.pages.fetch_page(request.text, cutoff)
            return Answer({"page": page.to_dict(), **self._moment([page.published])})

        answer, cached = self._recorder.resolve(request, ask)
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
        with self._picture(url).opened() as image:
            return image

    def fetch_images(self, urls: Sequence[str]) -> list[Picture | ToolError]:
        """Fetches several pictures, some at the same time where a network is waited for.

        Returns:
            For each address, in order, the picture or the error that `fetch_image` raises for it. The pictures are not decoded
            yet: decode one after another, since together they may need more memory than there is.

        Raises:
            CacheMiss: As `fetch_image`; so with `ProviderError`, `DeadlineExceeded` and `DataError`.
        """

        def one(url: str) -> Picture | ToolError:
            try:
                return self._picture(url)
            except ToolError as error:
                return error

        if self.mode == "replay" or self._asked.pictures.local or len(urls) < 2:
            return [one(url) for url in urls]
        with ThreadPoolExecutor(max_workers=min(_AT_ONCE, len(urls))) as threads:
            contexts = [contextvars.copy_context() for _ in urls]
            return list(threads.map(lambda context, url: context.run(one, url), contexts, urls))

    def read_page(self, page: Page, prompt: str, reader: Reader, cutoff: date | None) -> str:
        """Lets a reader answer a prompt from a page; the answer is recorded like any other.

        Raises:
            ToolError: If the prompt is empty.
            CacheMiss: In ``replay``, if the answer is not recorded.
            ProviderError: If the reader failed.
        """
        if reader not in self._readers:
            self._readers.append(reader)
        content = sha256(canonical_json(page.to_dict()))
        params = {"url": page.url, "prompt": _given(prompt, "prompt"), "page": content}
        request = WebRequest("read_page", reader.name, reader.version, params, cutoff)
        answer, _ = self._recorder.resolve(request, lambda: Answer({"said": reader.read(page, request.params["prompt"])}))
        return str(answer.response["said"])

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
    def _asked(self) -> Parts:
        if self._parts is None or self.mode == "replay":
            raise ConfigError("web.mode=replay never asks a provider; set web.mode=record to fill gaps")
        return self._parts

    def _search(
        self,
        tool: str,
        read: Callable[[Mapping[str, Any]], Result],
        ask: Callable[[str, int, date | None], Sequence[Result]],
        query: str,
        k: int,
        cutoff: date | None,
    ) -> Found[Result]:
        if k < 1:
            raise ToolError(f"k={k} must be at least 1")
        limit = k * self.overfetch
        request = self._request(tool, {"query": _given(query, "query"), "limit": limit}, cutoff)
        # A search that asked for another number of hits answers as well, if it asked for as many as are wanted.
        limits = (*range(limit + 1, _MOST_HITS + 1), *range(limit - 1, k - 1, -1))
        others = map(partial(_with_limit, request), limits)
        answer, cached = self._recorder.resolve(request, lambda: self._hits(ask(request.text, limit, cutoff), limit), others)
        return self._found(read, answer, k, cutoff, cached)

    def _request(self, tool: str, params: dict[str, Any], cutoff: date | None) -> WebRequest:
        provider, version, extractor = self._source(tool)
        return WebRequest(tool, provider, version, params, cutoff, extractor)

    def _source(self, tool: str) -> tuple[str, str, str]:
        """Returns name, version and extractor that requests of a tool are recorded under."""
        if self._parts is not None:
            source = self._parts.asked(tool)
            extractor = str(getattr(source, "extractor", "")) if tool == "fetch_page" else ""
            return source.name, source.version, extractor
        if tool not in self._sources:
            recorded = self._recorder.kept.sources(tool)
            chosen = [source for source in recorded if source[0] in self._prefer] or recorded
            if len(chosen) > 1:
                names = ", ".join(f"{name} {version} {extractor}".strip() for name, version, extractor in chosen)
                setting = "web.pages" if tool == "fetch_page" else "web.pictures" if tool == "fetch_image" else "web.search"
                raise ConfigError(f"web.store holds {tool} by several providers ({names}); name one in {setting}")
            if not chosen:
                self._recorder.count(tool, misses=1)
                raise CacheMiss(f"nothing is recorded for {tool}; set web.mode=record to record it")
            self._sources[tool] = chosen[0]
        return self._sources[tool]

    def _picture(self, url: str) -> Picture:
        request = self._request("fetch_image", {"url": _given(url, "url")}, None)

        def ask() -> Answer:
            data = self._asked.pictures.fetch_image(request.text)
            try:
                with opened(data):
                    pass
            except DataError as error:
                raise ToolError(f"the picture {request.text} cannot be shown: {error}") from error
            media_type = Image.open(io.BytesIO(data), formats=FORMATS).get_format_mimetype() or "application/octet-stream"
            return Answer({"blob": sha256(data), "media_type": media_type}, data, media_type)

        answer, _ = self._recorder.resolve(request, ask)
        data, digest, watched = answer.blob, answer.response["blob"], partial(self._recorder.watched, "fetch_image")
        if data is not None and self.mode == "live":
            return Picture(lambda: data, watched)
        # Read again when it is needed: the pictures of all searches that are going on would be much to keep.
        return Picture(lambda: self._recorder.kept.blob(digest).data, watched)

    def _hits(self, hits: Sequence[TextHit | ImageHit | NewsHit], limit: int) -> Answer:
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


def _with_limit(request: WebRequest, limit: int) -> WebRequest:
    return replace(request, params={**request.params, "limit": limit})


def _given(text: str, name: str) -> str:
    if not text.strip():
        raise ToolError(f"{name} is empty")
    return scrub(text.strip())


def _reference(answer: Answer) -> datetime | None:
    asked = answer.response.get("asked")
    return None if asked is None else datetime.fromisoformat(asked)
