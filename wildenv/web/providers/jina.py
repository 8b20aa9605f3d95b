"""Pages through the Jina reader, a service that opens a page in a browser and returns its text as Markdown.

Without a key it is free and allows few requests a minute; with one it charges by tokens. It reads the page as it is today, not as
it was at the cutoff, may serve a copy it made earlier, and of many pages gives no date, or the one the server last changed the
file. Addresses that are private or oddly spelled are not passed on to it; names are not resolved here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Any

from wildenv.errors import ToolError, Unavailable
from wildenv.secrets import Secret
from wildenv.web.net.fields import address, count, error_status, mapping, text, unexpected
from wildenv.web.net.guard import Guard, Refused
from wildenv.web.net.manners import Rules
from wildenv.web.net.service import Reply, Service
from wildenv.web.net.spending import Spending, checked_price
from wildenv.web.results import Link, Page

_TARGET_STATUS = re.compile(r"Target URL returned error (\d{3})")
_TARGET_FAILED = {413: "too large", 422: "not opened", 451: "refused"}
"""Statuses of the reader that are about the page."""

_LOCAL_NAMES = ("localhost", "local", "localdomain", "internal", "intranet", "lan", "home.arpa", "onion")

_MOST_LINKS = 500


class JinaPages:
    """Fetches pages through the reader.

    Args:
        api_key: The key; None uses the free service.
        url: Address of the reader, which can be an instance of your own.
        links: Whether to ask for the links of a page.
        price: Money per 1,000,000 tokens, for the cost in reports; tokens are its credits.
        rules: Manners.
        timeout_s: Seconds one attempt may take; the reader waits for the page's scripts.
        key_env: The environment variable the key came from, for messages.

    Raises:
        ConfigError: If a value is not valid.
    """

    name = "jina"
    local = False

    def __init__(
        self,
        api_key: Secret | None = None,
        url: str = "https://r.jina.ai",
        links: bool = True,
        price: float = 0.0,
        rules: Rules | None = None,
        timeout_s: float = 40.0,
        key_env: str = "JINA_API_KEY",
    ) -> None:
        self.version = "1" if links else "1 links=no"
        self._price = checked_price(price, "web.pages.price")
        self._guard = Guard()
        headers: dict[str, str | Secret] = {}
        if links:
            headers["X-With-Links-Summary"] = "true"
        if api_key is not None:
            headers["Authorization"] = Secret(f"Bearer {api_key.reveal()}")
        self._service = Service("jina", url, "web.pages", headers, key_env, rules, timeout_s, status_of=_status_of)

    @property
    def spending(self) -> Spending:
        """What was asked for so far and what it cost; credits are tokens."""
        return self._service.spending

    def fetch_page(self, url: str, cutoff: date | None) -> Page:
        """Returns a page as it is today; the cutoff is not known to the reader.

        Raises:
            ToolError: If the site says that there is no such page.
            Unavailable: If the page cannot be had for another reason, or its address is refused.
            ProviderError: If the reader failed.
            DeadlineExceeded: If the tool call ran out of time.
        """
        target = self._target(url)

        def judge(reply: Reply) -> Exception | None:
            if reply.status == 402:
                return self._service.failure(
                    f"has no tokens left for this key ({reply.said})", "quota", "buy some, or use another key"
                )
            said = text(reply.body.get("message")) if isinstance(reply.body, dict) else ""
            if said and reply.status in _TARGET_FAILED:
                return Unavailable(url, _TARGET_FAILED[reply.status], said)
            if reply.status == 400 and "resolved" in said:
                return Unavailable(url, "dns", said)
            return None

        body = mapping(self._service.post("/", {"url": target}, judge), "jina")
        data = mapping(body.get("data"), "jina")
        self._count(data.get("usage"))
        return _page(url, data)

    def close(self) -> None:
        """Closes the connections."""
        self._service.close()

    def _target(self, url: str) -> str:
        try:
            place = self._guard.place(url)
        except Refused as refused:
            raise Unavailable(url, "not safe", str(refused)) from refused
        if any(place.host == name or place.host.endswith(f".{name}") for name in _LOCAL_NAMES):
            raise Unavailable(url, "not safe", f"{place.host} is a name of a local network")
        return place.url

    def _count(self, usage: Any) -> None:
        tokens = count(usage.get("tokens")) if isinstance(usage, dict) else None
        if tokens:
            self.spending.add(credits=tokens, cost=tokens * self._price / 1_000_000)


def _page(url: str, data: Any) -> Page:
    failed = _TARGET_STATUS.search(text(data.get("warning")))
    if failed is not None:
        status = failed[1]
        raise ToolError(f"there is no page {url}") if status in ("404", "410") else Unavailable(url, f"http {status}")
    if "CAPTCHA" in text(data.get("warning")):
        # The reader says so of short pages only: what it got is the question, not the page.
        raise Unavailable(url, "captcha", text(data.get("warning")))
    content = data.get("content")
    if content is not None and not isinstance(content, str):
        raise unexpected("jina", f"content is a {type(content).__name__}, not a text")
    final = address(data.get("url")) or url
    links = tuple(_links(data.get("links"), final))[:_MOST_LINKS]
    return Page(final, text(data.get("title")), text(content), text(data.get("publishedTime")) or None, links)


def _links(links: Any, base: str) -> Iterator[Link]:
    """Reads both forms the reader has: words by address, and pairs."""
    pairs = links.items() if isinstance(links, dict) else links if isinstance(links, list) else ()
    for pair in pairs:
        if isinstance(pair, list | tuple) and len(pair) == 2 and (leads := address(pair[1], base)):
            yield Link(" ".join(text(pair[0]).split()), leads)


def _status_of(body: Any) -> int | None:
    return error_status(body, "code")
