"""Pages as they were before the cutoff, from the Internet Archive's Wayback Machine or another archive with its interface.

Pages are edited after they were published, so that a search which is filtered by date still leaks what is on them now. Here a
page is its last capture of the cutoff day (UTC) or before; what was never captured by then does not exist. The archive's index is
asked through its CDX API, then the capture is fetched as it was made (``/web/<time>id_/<url>``). Not seen: captures that only say
that a page had not changed since an earlier one, which is then the one that counts; and what the archive was asked to leave out.

The archive allows about 24 questions to the index a minute and blocks those who go on after being told so, hence the default
rules. Captures are fetched under the rules of hosts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from wildenv.errors import ProviderError, ToolError, Unavailable
from wildenv.web.dates import is_relative, published_span
from wildenv.web.extract import Extractor
from wildenv.web.net.fetch import Download, Fetcher
from wildenv.web.net.fields import unexpected
from wildenv.web.net.manners import Rules
from wildenv.web.net.service import Reply, Service
from wildenv.web.net.spending import Spending
from wildenv.web.results import Page

ARCHIVE = "https://web.archive.org"

_FIELDS = ("timestamp", "original", "mimetype")
_TYPES = ("text/html", "application/xhtml+xml", "application/pdf", "text/plain")
_LISTED = 50
"""Captures asked for. Never one: the API then takes a short cut that can miss the last one before ``to``."""

_TRIED = 3
"""Captures that are tried, where the archive cannot play one back."""

_END_OF_TIME = "99991231235959"
_EXCLUDED = re.compile(r"(?:Administrative|Robot)AccessControlException")
_STAMP = re.compile(r"[0-9]{14}")
_PLAYED = re.compile(r"/web/([0-9]{14})(?:[a-z]{2}_)?/")
_ARCHIVE_FAILED = ("timeout", "dns", "connection", "tls", "bad reply", "refused address", "http 403", "http 429")


@dataclass(frozen=True, slots=True)
class _Capture:
    """A capture: when (UTC, ``YYYYMMDDhhmmss``) and of which address."""

    stamp: str
    original: str


class WaybackPages:
    """Fetches archived pages.

    Args:
        fetcher: Fetches captures; it must be allowed to connect to the archive.
        extractor: Extracts.
        url: Address of the archive.
        rules: Manners towards its index.
        timeout_s: Seconds one question to the index may take.

    Raises:
        ConfigError: If a value is not valid.
    """

    name = "wayback"
    version = "1"
    local = False

    def __init__(
        self,
        fetcher: Fetcher,
        extractor: Extractor,
        url: str = ARCHIVE,
        rules: Rules | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        rules = rules or Rules(concurrency=2, per_second=0.4, backoff_s=2.0, longest_wait_s=60.0)
        self._index = Service("the archive's index", url, "web.pages", rules=rules, timeout_s=timeout_s)
        self._url = self._index.url
        self._fetcher = fetcher
        self._extractor = extractor
        self.extractor = extractor.version

    @property
    def spending(self) -> Spending:
        """What the index was asked; captures count in the fetcher's."""
        return self._index.spending

    def fetch_page(self, url: str, cutoff: date | None) -> Page:
        """Returns the page as it was at the end of the cutoff day; without a cutoff, as captured last.

        A page that names no readable date is dated by its capture: it existed then, so that it was published on that day or
        before. So is one that names a later day, which it cannot have been published on.

        Raises:
            ToolError: If there is no capture that is old enough.
            Unavailable: If the capture cannot be read.
            ProviderError: If the archive failed.
            DeadlineExceeded: If the tool call ran out of time.
        """
        last = _END_OF_TIME if cutoff is None else f"{cutoff:%Y%m%d}235959"
        for day, got in self._played(url, last):
            page = self._extractor.page(got.data, url, got.media_type, got.charset)
            return replace(page, url=url, published=_published(page, day))
        raise ToolError(f"there is no page at {url}")

    def _played(self, url: str, last: str) -> Iterator[tuple[date, Download]]:
        """Yields captures that the archive plays back and their days, newest first."""
        for capture in self._captures(url, last)[:_TRIED]:
            try:
                got = self._fetcher.page(f"{self._url}/web/{capture.stamp}id_/{capture.original}")
            except Unavailable as error:
                if error.kind in _ARCHIVE_FAILED or error.kind.startswith("http 5"):
                    what = f"the archive at {self._url} failed ({error.kind})"
                    advice = "try again later, lower web.host_rules, or set web.pages to another provider"
                    raise ProviderError(f"{what}; {advice}", error.kind) from error
                raise Unavailable(url, error.kind, error.detail) from error
            except ToolError:
                continue
            # The archive may lead on to another capture than the one asked for, even one after the cutoff.
            played = _PLAYED.match(got.url.removeprefix(self._url))
            day = None if played is None or played[1] > last else _day(played[1])
            if day is not None:
                yield day, got

    def _captures(self, url: str, last: str) -> list[_Capture]:
        params: dict[str, str | int] = {
            "url": url.partition("#")[0],
            # Said, because a star in the address would ask for many addresses at once.
            "matchType": "exact",
            "filter": "statuscode:200",
            "fl": ",".join(_FIELDS),
            "output": "json",
            "limit": -_LISTED,
        }
        if last != _END_OF_TIME:
            params["to"] = last

        def judge(reply: Reply) -> Exception | None:
            # The archive was asked to leave the site out, or obeys its robots.txt: for whoever asks it, there is no page.
            excluded = reply.status >= 400 and _EXCLUDED.search(reply.said)
            return ToolError(f"there is no page at {url}") if excluded else None

        return _captures_of(self._index.get("/cdx/search/cdx", params, judge), last)


def _captures_of(body: Any, last: str) -> list[_Capture]:
    """Reads the index's answer, a header and rows: captures of readable types up to a moment, newest first."""
    if not isinstance(body, list) or not all(isinstance(row, list) for row in body):
        raise unexpected("the archive's index", "not a list of rows")
    if body and sorted(map(str, body[0])) != sorted(_FIELDS):
        raise unexpected("the archive's index", f"its columns are {str(body[0])[:80]}")
    rows = [dict(zip(body[0], map(str, row), strict=False)) for row in body[1:]]
    captures = {
        _Capture(row["timestamp"], row["original"])
        for row in rows
        if len(row) == len(_FIELDS)
        and row["mimetype"].lower() in _TYPES
        and _day(row["timestamp"]) is not None
        and row["timestamp"] <= last
    }
    return sorted(captures, key=lambda capture: (capture.stamp, capture.original), reverse=True)


def _day(stamp: str) -> date | None:
    """Returns the day of a time in the archive's form; None if there is no such time."""
    try:
        return datetime.strptime(stamp, "%Y%m%d%H%M%S").date() if _STAMP.fullmatch(stamp) else None
    except ValueError:
        return None


def _published(page: Page, captured: date) -> str:
    span = published_span(page.published, captured)
    if page.published is None or span is None or span[0] > captured:
        return captured.isoformat()
    if is_relative(page.published):
        # Left as it is, it would be read relative to the day of the recording.
        return (span[0] if span[0] == span[1] else captured).isoformat()
    return page.published
