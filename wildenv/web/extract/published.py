"""The publication date that a page states.

Sources, best first: JSON-LD, ``<meta>``, microdata, ``<time>``, and short texts in elements that are named after dates. A
source counts only if it is of one mind: a page that lists things of several days has no date of its own, and an unknown date is
safer than a wrong one where dates decide what an agent may see. Never taken: when a page was modified, dates in its address or
its running text, copyright years, and today. Whether the date is true cannot be known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from lxml.html import HtmlElement

from wildenv.web.dates import parse_published, published_span
from wildenv.web.extract.visible import line_of

_LONGEST = 80
"""Characters of a text that can be a date."""

_CANDIDATES = 200
"""Elements looked at for dates; a page with more is a list."""

# In order: what is closer to the moment of publication comes first.
_META = (
    *("article:published_time", "og:published_time", "og:article:published_time", "article:published", "datepublished"),
    *("date_published", "publish_date", "publish-date", "publishdate", "published_time", "publication_date", "pubdate"),
    *("citation_publication_date", "citation_online_date", "parsely-pub-date", "sailthru.date", "dcterms.issued"),
    *("dc.date.issued", "dcterms.date", "dc.date", "video:release_date", "date"),
)
_ARTICLE = re.compile(r"(?:Article|Posting|Report)$")
_NOT_THE_PAGE = re.compile(r"Comment|Review|Answer|Question|Person|Organization|Image|BreadcrumbList|SearchAction")
_LOOSE = re.compile(r'"datePublished"\s*:\s*"([^"\\]{4,80})"')

_MARKED = re.compile(
    r"(?<![^\W\d_])(?:pub(?:lish(?:ed)?)?-?(?:date|time|on)|date-?published|published|pubdate|dateline|date|datum|fecha|posted(?:-on)?"
    r"|timestamp)(?![^\W\d_])",
    re.IGNORECASE,
)
_PUBLISHED = re.compile(
    r"(?<![^\W\d_])(?:published|publish|pubdate|entry-date|dt-published|posted-on|datepublished)(?![^\W\d_])", re.I
)
_MODIFIED = re.compile(
    r"modif|update|aktualisiert|geändert|stand:|mise? à jour|maj\b|actualizad|modificad|aggiornat|atualizad|bijgewerkt|gewijzigd"
    r"|обновл|измен|更新|修改|수정|업데이트|최종",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"comment|related|recommend|sidebar|widget|promo|teaser|trending|popular|footer|newsletter|advert|(?<![^\W\d_])more(?![^\W\d_])",
    re.IGNORECASE,
)
_ASIDE_TAGS = frozenset(("aside", "footer", "nav", "form"))


def published(tree: HtmlElement, url: str, whole: bool = True) -> str | None:
    """Returns the date as the page gives it, unparsed but readable by `wildenv.web.dates`.

    Args:
        tree: The page.
        url: Its address, by which it is told from other things that it describes.
        whole: False looks only at what is written for machines, which is quick in a page of any size.
    """
    sources = [_linked_data, _meta, *([_microdata, _times, _marked] if whole else [])]
    for source in sources:
        found = _agreed(source(tree, url))
        if found is not None:
            return found
    return None


def _agreed(texts: Iterable[str]) -> str | None:
    """Returns the first text that can be read as a date if all that can be read mean the same."""
    readable = [(text, span) for text in texts if len(text) <= _LONGEST and (span := published_span(text)) is not None]
    return readable[0][0] if readable and len({span for _, span in readable}) == 1 else None


def _linked_data(tree: HtmlElement, url: str) -> list[str]:
    things: list[dict[str, Any]] = []
    loose: list[str] = []
    for script in tree.iter("script"):
        if "ld+json" not in (script.get("type") or ""):
            continue
        text = script.text or ""
        try:
            things += _things(json.loads(text, strict=False))
        except (ValueError, RecursionError):
            # A comma too many is common; what it says about the date can still be clear.
            loose += [line_of(found) for found in _LOOSE.findall(text)]
    dated = [(thing, date) for thing in things if (date := _dated(thing)) is not None]
    here = {_address(address) for address in (url, *_canonical(tree))}
    articles = [pair for pair in dated if any(map(_ARTICLE.search, _types(pair[0])))]
    for choice in (articles, dated):
        own = [date for thing, date in choice if here & {_address(address) for address in _addresses(thing)}]
        if own or choice:
            return own or [date for _, date in choice]
    return loose


def _things(value: Any) -> Iterator[dict[str, Any]]:
    """Yields what a JSON-LD document describes, but not the parts and comments of those things."""
    if isinstance(value, list):
        for item in value:
            yield from _things(item)
    elif isinstance(value, dict):
        yield value
        for name in ("@graph", "mainEntity", "mainEntityOfPage"):
            yield from _things(value.get(name))


def _types(thing: dict[str, Any]) -> list[str]:
    kinds = thing.get("@type")
    return [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(kind, str)]


def _dated(thing: dict[str, Any]) -> str | None:
    if any(map(_NOT_THE_PAGE.search, _types(thing))):
        return None
    date = thing.get("datePublished") or thing.get("uploadDate")
    if isinstance(date, list) and len(date) == 1:
        date = date[0]
    return line_of(date) if isinstance(date, str) else None


def _addresses(thing: dict[str, Any]) -> list[str]:
    page = thing.get("mainEntityOfPage")
    named = (thing.get("url"), thing.get("@id"), page.get("@id") if isinstance(page, dict) else page)
    return [address for address in named if isinstance(address, str)]


def _canonical(tree: HtmlElement) -> list[str]:
    return [link.get("href", "") for link in tree.iter("link") if (link.get("rel") or "").lower() == "canonical"]


def _address(url: str) -> str:
    return url.strip().partition("#")[0].partition("://")[2].rstrip("/")


def _meta(tree: HtmlElement, url: str) -> list[str]:
    stated: dict[str, str] = {}
    for tag in tree.iter("meta"):
        content = line_of(tag.get("content") or "")
        if published_span(content) is not None:
            for attribute in ("property", "name", "itemprop"):
                stated.setdefault((tag.get(attribute) or "").lower(), content)
    return [stated[name] for name in _META if name in stated][:1]


def _microdata(tree: HtmlElement, url: str) -> list[str]:
    for element in tree.iter("time", "span", "div", "p", "abbr", "data", "li", "dd", "td"):
        if "datepublished" in f"{element.get('itemprop', '')} {element.get('property', '')}".lower() and not _beside(element):
            return [_value(element)]
    return []


def _times(tree: HtmlElement, url: str) -> list[str]:
    times = list(islice(tree.iter("time"), _CANDIDATES + 1))
    if len(times) > _CANDIDATES:
        return []
    times = [element for element in times if not _beside(element) and not _modified(element)]
    stated = [element for element in times if element.get("pubdate") is not None or _PUBLISHED.search(_names(element))]
    inside = [element for element in times if any(up.tag in ("article", "main") for up in element.iterancestors())]
    return [_value(element) for element in stated or inside or times]


def _marked(tree: HtmlElement, url: str) -> list[str]:
    found: list[str] = []
    for element in tree.iter(
        "p", "span", "div", "li", "em", "small", "b", "strong", "i", "a", "td", "dd", "abbr", "h4", "h5", "h6"
    ):
        if not _MARKED.search(_names(element)) or _beside(element) or _modified(element):
            continue
        text = _value(element)
        if len(text) <= _LONGEST and parse_published(text) is not None:
            found.append(text)
            if len(found) > _CANDIDATES:
                return []
    return found


def _names(element: HtmlElement) -> str:
    return f"{element.get('class', '')} {element.get('id', '')}".replace("_", "-")


def _value(element: HtmlElement) -> str:
    stated = line_of(element.get("datetime") or element.get("content") or "")
    return stated if published_span(stated) is not None else line_of("".join(islice(element.itertext(), 20))[:1_000])


def _beside(element: HtmlElement) -> bool:
    """Says whether an element stands in a part of the page that is about something else."""
    for up in (element, *element.iterancestors()):
        if up.tag in ("body", "html"):
            return False
        if up.tag in _ASIDE_TAGS or _NOT_THE_PAGE.search(up.get("itemtype") or ""):
            return True
        if up.tag not in ("article", "main") and any(
            _ASIDE.search(name) and not name.startswith(("has-", "with-", "no-")) for name in _names(up).split()
        ):
            return True
    return False


def _modified(element: HtmlElement) -> bool:
    """Says whether the element, or what stands in front of it, speaks of a change."""
    if _PUBLISHED.search(_names(element)):
        # A page that was never changed often marks its one date as both.
        return False
    before, parent = element.getprevious(), element.getparent()
    if before is not None:
        label = before.tail if before.tail and before.tail.strip() else before.text
    else:
        label = parent.text if parent is not None else None
    around = _names(parent) if parent is not None and parent.tag not in ("article", "main", "body") else ""
    own = f"{_names(element)} {element.get('itemprop', '')} {around} {(element.text or '')[:_LONGEST]}"
    return _MODIFIED.search(f"{own} {(label or '')[-_LONGEST:]}") is not None
