"""The rules for a provider."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from wildenv.check.rule import require
from wildenv.errors import ProviderError, ToolError, told
from wildenv.web.providers.base import Provider
from wildenv.web.results import ImageHit, Page, TextHit


def check_provider(provider: Provider, query: str = "lantern") -> None:
    """Checks a provider with a query that finds pages and pictures. One that is not `local` is asked about eight times.

    Raises:
        AssertionError: At the first rule that is broken.
    """
    for name in ("name", "version"):
        value = getattr(provider, name, None)
        require(isinstance(value, str) and value, f"provider.{name} must be a non-empty string: it is part of the cache key")
    require(isinstance(getattr(provider, "local", None), bool), "provider.local must be True or False")
    for name in ("text_search", "image_search", "fetch_page", "fetch_image"):
        require(
            callable(getattr(provider, name, None)),
            f"provider.{name} must be a method: what is checked here is a provider of the whole web",
        )
    texts = _finds("text_search", provider.text_search, TextHit, query)
    images = _finds("image_search", provider.image_search, ImageHit, query)
    _fetches_pages(provider, texts)
    _fetches_pictures(provider, images)
    _says_what_is_missing(provider)
    if provider.local:
        _serves_threads(provider, query, texts)


def _finds(
    tool: str, search: Callable[[str, int, None], list[Any]], kind: type[TextHit] | type[ImageHit], query: str
) -> list[Any]:
    hits = search(query, 5, None)
    require(isinstance(hits, list) and hits, f"{tool}({query!r}) must return a list and find something; pass a query that does")
    for hit in hits:
        require(isinstance(hit, kind), f"{tool} must return {kind.__name__}s, not {type(hit).__name__}")
        fields = {name: getattr(hit, name) for name in hit.__slots__}
        published = fields.pop("published")
        require(
            all(isinstance(value, str) for value in fields.values()), f"{tool}: every field but the date must be a string: {hit}"
        )
        require(
            published is None or isinstance(published, str), f"{tool}: published is the date as given, unparsed, or None: {hit}"
        )
        require(re.match(r"https?://\S+$", hit.url), f"{tool}: {hit.url!r} is not an http address")
    require(len(hits) <= 5 and len(search(query, 1, None)) <= 1, f"{tool} must return at most `limit` results")
    return hits


def _fetches_pages(provider: Provider, hits: Sequence[TextHit]) -> None:
    page = provider.fetch_page(hits[0].url, None)
    require(isinstance(page, Page), f"fetch_page must return a Page, not {type(page).__name__}")
    require(isinstance(page.text, str) and isinstance(page.title, str), "Page.text and Page.title must be strings")
    require(page.published is None or isinstance(page.published, str), "Page.published is the date as given, unparsed, or None")


def _fetches_pictures(provider: Provider, hits: Sequence[ImageHit]) -> None:
    data = provider.fetch_image(hits[0].url)
    require(isinstance(data, bytes) and data, "fetch_image must return the bytes of the picture as they were sent")


def _says_what_is_missing(provider: Provider) -> None:
    missing = "https://nowhere.invalid/missing"
    fetches: list[tuple[str, Callable[[], object]]] = [
        ("fetch_page", lambda: provider.fetch_page(missing, None)),
        ("fetch_image", lambda: provider.fetch_image(missing)),
    ]
    for name, fetch in fetches:
        try:
            fetch()
        except (ToolError, ProviderError):
            continue
        except Exception as error:
            raise AssertionError(
                f"{name} of an address that does not exist must raise ToolError, or ProviderError if the service failed; it "
                f"raised {told(error)}"
            ) from error
        raise AssertionError(f"{name} of an address that does not exist must raise ToolError; it returned something")


def _serves_threads(provider: Provider, query: str, hits: list[Any]) -> None:
    with ThreadPoolExecutor(max_workers=4) as threads:
        found = list(threads.map(lambda _: provider.text_search(query, 5, None), range(8)))
    require(
        all(again == hits for again in found), "a local provider must give the same results each time, from many threads at once"
    )
