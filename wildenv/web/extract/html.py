"""A page of HTML: main text, title, publication date, links.

The main text is trafilatura's. A page where it finds none, or that has too many or too deeply nested elements for it, gives all
its visible text instead. Scripts are not run, so a page that is made by scripts alone has no text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import urldefrag, urljoin, urlsplit

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring
from trafilatura import bare_extraction
from trafilatura.settings import Document

from wildenv.secrets import logger
from wildenv.web.extract.charset import decode
from wildenv.web.extract.published import published
from wildenv.web.extract.visible import line_of, paragraphs, visible_text
from wildenv.web.results import Link, Page

MOST_ELEMENTS = 30_000
"""A page with more gives its visible text: the time that trafilatura needs grows with their square."""

MOST_COMPARED = 6_000
"""A page with more elements is not compared with what other extractors make of it, which can take a minute for these."""

MOST_LINKS = 50

_LOG = logger(__name__)
_NEARLY_ALL = 0.8
"""A single block of so much of the visible text is no choice of trafilatura's, and has lost its paragraphs."""

_TITLE_CHARS = 500
_LINK_CHARS = 200
_URL_CHARS = 2_000
_PARAGRAPHS = frozenset(("p", "head", "quote", "code", "list", "item", "table", "row"))
_HOLDERS = ("p", "li", "dd", "td", "th", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "div")


def extract_html(data: bytes, url: str, charset: str | None) -> Page:
    """Reads a page.

    Args:
        data: The document.
        url: Where it comes from; its links are made absolute by it.
        charset: The encoding that the server names, if any.
    """
    markup = decode(data, charset).replace("\0", "")
    tree, deep = _tree(markup)
    if tree is None:
        return Page(url, "", visible_text(markup))
    elements = sum(1 for _ in tree.iter())
    small = not deep and elements <= MOST_ELEMENTS
    body = _main(tree, fast=elements > MOST_COMPARED) if small else None
    text = "" if body is None else paragraphs(_texts(body))
    links: Iterable[tuple[str, str]]
    if body is not None and text and not (len(body) == 1 and len(text) > _NEARLY_ALL * len(visible_text(markup))):
        links = _references(body, tree) or _anchors(tree, set(text.split("\n\n")))
    else:
        text, links = visible_text(markup), _anchors(tree, None)
    return Page(url, _title(tree), text, published(tree, url, whole=small), tuple(_addressed(links, tree, url)))


def _tree(markup: str) -> tuple[HtmlElement | None, bool]:
    """Returns the tree of a page, None for one without any element, and whether its deepest elements are missing from it."""
    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=False, huge_tree=True)
    try:
        tree = document_fromstring(markup.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError:
        return None, False
    return tree, any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log)


def _main(tree: HtmlElement, fast: bool) -> etree._Element | None:
    # Without metadata: trafilatura's date would depend on today's, and be a guess.
    try:
        found = bare_extraction(tree, output_format="txt", include_comments=False, include_links=True, fast=fast)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  (any page may hit a mistake in it; the page is still worth reading)
        _LOG.exception("trafilatura failed; the page gives its visible text")
        return None
    return found.body if isinstance(found, Document) else None


def _texts(body: etree._Element) -> Iterator[str]:
    """Yields the paragraphs of trafilatura's tree; items and table rows are paragraphs of their own."""
    pieces: list[str] = []
    for event, element in etree.iterwalk(body, events=("start", "end")):
        starts = event == "start"
        if element.tag in _PARAGRAPHS:
            yield "".join(pieces)
            pieces = ["- "] if starts and element.tag == "item" else []
        elif element.tag == "lb" and starts:
            pieces.append("\n")
        elif element.tag == "cell" and not starts and element.getnext() is not None:
            pieces.append(" | ")
        text = element.text if starts else element.tail
        if text and (starts or element is not body):
            pieces.append(text.replace("\n", " "))
    yield "".join(pieces)


def _words(element: etree._Element) -> str:
    return line_of("".join(element.itertext()))[:_LINK_CHARS]


def _references(body: etree._Element, tree: HtmlElement) -> list[tuple[str, str]]:
    """Returns the links of trafilatura's tree; their words, which it sometimes mixes up, are checked against the page."""
    named: dict[str, list[str]] = {}
    for target, words in _anchors(tree, None):
        named.setdefault(target, []).append(words)
    found = []
    for ref in body.iter("ref"):
        target, words = ref.get("target") or "", _words(ref)
        known = named.get(target, [])
        found.append((target, words if words in known else next(filter(None, known), "")))
    return found


def _anchors(tree: HtmlElement, within: set[str] | None) -> Iterator[tuple[str, str]]:
    """Yields the links of a page; given paragraphs, only those that stand in one of them."""
    known: dict[HtmlElement, bool] = {}
    for anchor in tree.iter("a"):
        if within is not None:
            holder = next(anchor.iterancestors(_HOLDERS), None)
            if holder is None:
                continue
            if holder not in known:
                text = line_of(holder.text_content())
                known[holder] = text in within or f"- {text}" in within
            if not known[holder]:
                continue
        yield anchor.get("href") or "", _words(anchor)


def _addressed(links: Iterable[tuple[str, str]], tree: HtmlElement, url: str) -> Iterator[Link]:
    """Yields links to other pages with absolute addresses, each page once."""
    base = next((element.get("href") for element in tree.iter("base") if element.get("href")), "")
    seen = {urldefrag(url).url}
    for target, words in links:
        try:
            address = urldefrag(urljoin(urljoin(url, base), target.strip())).url
            parts = urlsplit(address)
        except ValueError:
            continue
        if (
            not words
            or parts.scheme not in ("http", "https")
            or not parts.hostname
            or len(address) > _URL_CHARS
            or address in seen
        ):
            continue
        seen.add(address)
        yield Link(words, line_of(address))
        if len(seen) > MOST_LINKS:
            return


def _title(tree: HtmlElement) -> str:
    shared = (tag.get("content") for tag in tree.iter("meta") if (tag.get("property") or "").lower() == "og:title")
    named = (_words_of(tree, tag) for tag in ("title", "h1"))
    return next((title[:_TITLE_CHARS] for title in (*map(line_of, filter(None, shared)), *named) if title), "")


def _words_of(tree: HtmlElement, tag: str) -> str:
    found = next(tree.iter(tag), None)
    return "" if found is None else line_of(found.text_content())
