"""Google results through the Serper API.

Every request costs money: one credit each at the time of writing, more for more than ten results, and an empty answer is asked
for twice before it is believed (`wildenv.web.admission`). The cutoff is passed on as a date window, but Google's dates are those
of its index: a page that was edited later still comes, with its old date. Dates are handed on as they were given.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from wildenv.errors import ConfigError
from wildenv.secrets import Secret
from wildenv.web.net.fields import address, count, error_status, mapping, query_text, rows, text, unexpected
from wildenv.web.net.manners import Rules
from wildenv.web.net.service import Reply, Service
from wildenv.web.net.spending import Quota, Spending, checked_price
from wildenv.web.results import ImageHit, NewsHit, TextHit

_EARLIEST = date(2000, 1, 1)
_FEWEST, _MOST = 10, 100
"""Results that may be asked for: fewer cost the same, more are not given."""


class SerperProvider:
    """Searches pages, pictures and news with Google, through Serper.

    Args:
        api_key: The key; `wildenv.secrets.secret_from_env` reads it.
        url: Address of the API.
        gl: Country whose results are wanted, two letters.
        hl: Language of the interface, which dates come in, two letters.
        quota: Credits this process may use; at nine tenths a warning is logged, at the end requests fail. None for no limit.
        price: Money per 1,000 credits, for the cost in reports; 0 if it does not matter.
        rules: Manners.
        timeout_s: Seconds one attempt may take.
        key_env: The environment variable the key came from, for messages.

    Raises:
        ConfigError: If a value is not valid.
    """

    name = "serper"
    local = False

    def __init__(
        self,
        api_key: Secret,
        url: str = "https://google.serper.dev",
        gl: str = "us",
        hl: str = "en",
        quota: int | None = None,
        price: float = 0.0,
        rules: Rules | None = None,
        timeout_s: float = 15.0,
        key_env: str = "SERPER_API_KEY",
    ) -> None:
        for setting, value in (("gl", gl), ("hl", hl)):
            if not value.replace("-", "").isalnum():
                raise ConfigError(f"web.search.{setting}={value!r} must be a code such as 'us' or 'en'")
        # Both change what is found, so they are part of the cache key.
        self.version = f"1 gl={gl} hl={hl}"
        self._common = {"gl": gl, "hl": hl}
        self._price = checked_price(price, "web.search.price")
        self._quota = Quota("serper", quota, "web.search.quota")
        self._service = Service(
            "serper", url, "web.search", {"X-API-KEY": api_key}, key_env, rules, timeout_s, status_of=_status_of
        )

    @property
    def spending(self) -> Spending:
        """What was asked for so far and what it cost."""
        return self._service.spending

    def text_search(self, query: str, limit: int, cutoff: date | None) -> list[TextHit]:
        """Returns at most `limit` organic results that Google dates not after the cutoff, or not at all.

        Raises:
            ToolError: If the query is too long.
            ProviderError: If the service failed, refused the key, or the quota is used up.
            DeadlineExceeded: If the tool call ran out of time.
        """
        found = self._ask("search", "organic", query, limit, _until(cutoff))
        hits = [
            TextHit(text(row.get("title")) or url, url, text(row.get("snippet")), _published(row))
            for row in found
            if (url := address(row.get("link")))
        ]
        return hits[:limit]

    def image_search(self, query: str, limit: int, cutoff: date | None) -> list[ImageHit]:
        """Returns at most `limit` image results; raises as `text_search`. Serper sends how many it likes."""
        found = self._ask("images", "images", query, limit, _until(cutoff))
        hits = [
            ImageHit(text(row.get("title")), url, address(row.get("link")) or "", _published(row))
            for row in found
            if (url := address(row.get("imageUrl")))
        ]
        return hits[:limit]

    def news_search(self, query: str, limit: int, day: date) -> list[NewsHit]:
        """Returns at most `limit` news results of one day; raises as `text_search`."""
        found = self._ask("news", "news", query, limit, _window(day, day))
        hits = [
            NewsHit(text(row.get("title")) or url, url, text(row.get("snippet")), text(row.get("source")), _published(row))
            for row in found
            if (url := address(row.get("link")))
        ]
        return hits[:limit]

    def close(self) -> None:
        """Closes the connections."""
        self._service.close()

    def _ask(self, path: str, holds: str, query: str, limit: int, window: dict[str, str]) -> list[Any]:
        body = {"q": query_text(query), **self._common, "num": min(max(limit, _FEWEST), _MOST), **window}
        charged = 0
        self._quota.book()
        try:
            reply = mapping(self._service.post(f"/{path}", body, self._judge), "serper")
            charged = _credits(reply)
            self.spending.add(credits=charged, cost=charged * self._price / 1000)
        finally:
            self._quota.settle(charged)
        if holds not in reply and "searchParameters" not in reply:
            raise unexpected("serper", f"neither {holds} nor searchParameters")
        return list(rows(reply, holds, "serper"))

    def _judge(self, reply: Reply) -> Exception | None:
        if reply.status >= 400 and "credit" in reply.said.lower():
            advice = (
                "buy credits, or name another key's environment variable in web.search.key_env; web.search.quota limits a run"
            )
            return self._service.failure(f"has no credits left for this key ({reply.said})", "quota", advice)
        if reply.status < 300 and isinstance(reply.body, dict) and "searchParameters" not in reply.body:
            said = text(reply.body.get("message")) or text(reply.body.get("error"))
            if said:
                return self._service.failure(f"answered with an error ({said[:160]})", "failed", "check web.search")
        return None


def _status_of(body: Any) -> int | None:
    return error_status(body, "statusCode")


def _credits(reply: Any) -> int:
    credits = count(reply.get("credits"))
    return 1 if credits is None else credits


def _published(row: Any) -> str | None:
    return text(row.get("date")) or text(row.get("datePublished")) or None


def _until(cutoff: date | None) -> dict[str, str]:
    return {} if cutoff is None else _window(_EARLIEST, cutoff)


def _window(first: date, last: date) -> dict[str, str]:
    """A date window as Google writes it (the paper, appendix B): month, day, year."""
    start, end = (f"{day.month}/{day.day}/{day.year}" for day in (first, last))
    return {"tbs": f"cdr:1,cd_min:{start},cd_max:{end}"}
