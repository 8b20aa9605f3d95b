"""Results of many search engines through a SearXNG instance of your own, which needs no key and costs nothing.

The instance must be told to answer in JSON: ``json`` under ``search.formats`` in its ``settings.yml``. What it finds depends on
which engines answer at the moment. It has no exact date window: the cutoff is left to the client, which sees few dates on general
results, so more of what is too new gets through (`env.undated`) than with a service that filters on its side.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, TypeVar

from wildenv.construct import is_number
from wildenv.errors import ConfigError
from wildenv.secrets import Secret
from wildenv.web.dates import parse_published
from wildenv.web.net.fields import address, mapping, query_text, rows, text, unexpected
from wildenv.web.net.manners import Rules
from wildenv.web.net.service import Reply, Service
from wildenv.web.net.spending import Spending
from wildenv.web.results import ImageHit, NewsHit, TextHit

Hit = TypeVar("Hit", TextHit, ImageHit, NewsHit)


class SearxngProvider:
    """Searches pages, pictures and news through SearXNG.

    Args:
        url: Address of the instance, ``http://127.0.0.1:8888``.
        language: Code of the wanted language, ``en`` or ``en-US``, or ``all``.
        safesearch: 0 off, 1 moderate, 2 strict.
        engines: Names of the engines to ask; none asks those that the instance enables.
        pages: Result pages that one search reads at most, until it has enough results.
        authorization: Value of the header ``Authorization``, for an instance behind a login; None sends none.
        rules: Manners; public instances ask for much less than the default.
        timeout_s: Seconds one attempt may take; a search waits for the slowest engine.

    Raises:
        ConfigError: If a value is not valid.
    """

    name = "searxng"
    local = False

    def __init__(
        self,
        url: str,
        language: str = "en",
        safesearch: int = 1,
        engines: tuple[str, ...] | list[str] = (),
        pages: int = 3,
        authorization: Secret | None = None,
        rules: Rules | None = None,
        timeout_s: float = 20.0,
    ) -> None:
        if not re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,4})*|all|auto", language):
            raise ConfigError(f"web.search.language={language!r} must be a code such as 'en' or 'de-DE', or 'all'")
        if safesearch not in (0, 1, 2):
            raise ConfigError(f"web.search.safesearch={safesearch!r} must be 0, 1 or 2")
        if not (is_number(pages, whole=True) and pages >= 1):
            raise ConfigError(f"web.search.pages={pages!r} must be a whole number of at least 1")
        if isinstance(engines, str):
            raise ConfigError(f"web.search.engines={engines!r} must be a list of names")
        # What changes the results is part of the cache key; the instance is not, so that a record does not depend on its address.
        named = f" engines={','.join(engines)}" if engines else ""
        self.version = f"1 language={language} safesearch={safesearch} pages={pages}{named}"
        self._common: dict[str, str | int] = {"format": "json", "language": language, "safesearch": safesearch}
        if engines:
            self._common["engines"] = ",".join(engines)
        self._pages = pages
        headers = {} if authorization is None else {"Authorization": authorization}
        self._service = Service("searxng", url, "web.search", headers, "", rules, timeout_s)

    @property
    def spending(self) -> Spending:
        """What was asked for so far; SearXNG charges nothing."""
        return self._service.spending

    def text_search(self, query: str, limit: int, cutoff: date | None) -> list[TextHit]:
        """Returns at most `limit` results, of any date: the instance cannot filter by the cutoff.

        Raises:
            ToolError: If the query is too long.
            ProviderError: If the instance failed, or none of its engines answered.
            DeadlineExceeded: If the tool call ran out of time.
        """

        def read(row: Mapping[str, Any]) -> TextHit | None:
            url = address(row.get("url"))
            return None if url is None else TextHit(text(row.get("title")) or url, url, text(row.get("content")), _published(row))

        return self._collect("general", query, limit, read)

    def image_search(self, query: str, limit: int, cutoff: date | None) -> list[ImageHit]:
        """Returns at most `limit` image results, of any date; raises as `text_search`.

        Pictures that come inside the reply as ``data:`` have no address and are left out.
        """

        def read(row: Mapping[str, Any]) -> ImageHit | None:
            page = address(row.get("url"), self._service.url) or ""
            url = address(row.get("img_src"), page)
            return None if url is None else ImageHit(text(row.get("title")), url, page, _published(row))

        return self._collect("images", query, limit, read)

    def news_search(self, query: str, limit: int, day: date) -> list[NewsHit]:
        """Returns at most `limit` of the news found that are dated that day; raises as `text_search`.

        The instance cannot search a single day: it is asked for any news, and what is undated or of another day is left out. Days
        long past are therefore mostly empty.
        """

        def read(row: Mapping[str, Any]) -> NewsHit | None:
            url, published = address(row.get("url")), _published(row)
            if url is None or parse_published(published) != day:
                return None
            source = text(row.get("source")) or text(row.get("engine"))
            return NewsHit(text(row.get("title")) or url, url, text(row.get("content")), source, published)

        return self._collect("news", query, limit, read)

    def close(self) -> None:
        """Closes the connections."""
        self._service.close()

    def _collect(self, category: str, query: str, limit: int, read: Callable[[Mapping[str, Any]], Hit | None]) -> list[Hit]:
        """Reads result pages until there are enough hits or no more results."""
        hits: dict[str, Hit] = {}
        for number in range(1, self._pages + 1):
            found = self._page(category, query, number)
            for hit in filter(None, map(read, found)):
                hits.setdefault(hit.url, hit)
            if len(hits) >= limit or not found:
                break
        return list(hits.values())[:limit]

    def _page(self, category: str, query: str, number: int) -> list[Mapping[str, Any]]:
        params = {"q": query_text(query), **self._common, "categories": category, "pageno": number}
        body = mapping(self._service.get("/search", params, self._judge), "searxng")
        if "results" not in body:
            raise unexpected("searxng", "no results")
        found = rows(body, "results", "searxng")
        silent = _silent(body.get("unresponsive_engines"))
        if not found and silent and number == 1:
            advice = "check the engines of the instance, or name others in web.search.engines"
            raise self._service.failure(f"found nothing because engines did not answer ({silent})", "engines failed", advice)
        return found

    def _judge(self, reply: Reply) -> Exception | None:
        if reply.status == 403 or (reply.status == 200 and not reply.is_json):
            advice = "add json to search.formats in the settings.yml of the instance, and check web.search.url"
            return self._service.failure(f"does not answer in JSON (HTTP {reply.status})", "not json", advice)
        return None


def _silent(engines: Any) -> str:
    """Names the engines that did not answer, and why."""
    if not isinstance(engines, list):
        return ""
    pairs = [[text(part) for part in engine] if isinstance(engine, list) else [text(engine)] for engine in engines]
    return ", ".join(": ".join(filter(None, pair)) for pair in pairs)[:300]


def _published(row: Mapping[str, Any]) -> str | None:
    return text(row.get("publishedDate")) or text(row.get("pubdate")) or None
