"""``web_fetch``: what a page says about a prompt (Savanna, appendix B).

The answer is extractive: the passages of the page that share most with the prompt, in the order of the page, and the links that
do. What one reply has no room for is in the next part. A chat model that reads the page can take the place of the passages.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from wildenv.errors import ConfigError, ToolError
from wildenv.messages import text_block
from wildenv.tools.base import Arguments, Schema, ToolContext, ToolResult, function_schema
from wildenv.tools.fence import inert, inert_line, inert_url, real_url
from wildenv.web.net.spending import Metered, Spending
from wildenv.web.passages import deal_passages, words_of
from wildenv.web.providers.base import Reader
from wildenv.web.results import Link, Page

_MOST_PARTS = 10_000
_NOTICE_CHARS = 120
_SHORTEST_WORD = 4
"""Letters of a word that makes a link fit: shorter ones join sentences."""


class WebFetch:
    """Fetches a page and returns the passages that answer a prompt.

    Args:
        passage_chars: Characters of passages in one reply at most; less where the budget allows a reply less.
        links: Links of the page in one reply at most.
        reader: Answers the prompt from the page; what it says is recorded and replayed like a page.

    Raises:
        ConfigError: If `passage_chars` is below 1 or `links` below 0.
    """

    name = "web_fetch"

    def __init__(self, passage_chars: int = 1_200, links: int = 3, reader: Reader | None = None) -> None:
        if passage_chars < 1:
            raise ConfigError(f"web_fetch: passage_chars={passage_chars} must be at least 1")
        if links < 0:
            raise ConfigError(f"web_fetch: links={links} must be at least 0")
        self.passage_chars = passage_chars
        self.links = links
        self.reader = None if reader is None else _Careful(reader)

    def schema(self) -> Schema:
        """Returns the tool's JSON schema."""
        properties = {
            "url": {"type": "string"},
            "prompt": {"type": "string", "description": "what to look for on the page"},
            "part": {"type": "integer", "description": "1 unless given; the next part of a long page"},
        }
        return function_schema(self.name, "Read a web page: what it says about the prompt.", properties, ["url", "prompt"])

    def run(self, context: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
        """Returns one text block: title, date, address, passages, links."""
        given = Arguments(self.name, arguments, ["url", "prompt", "part"])
        url = real_url(given.text("url", 2_000))
        prompt = given.text("prompt", 2_000)
        part = given.integer("part", 1, 1, _MOST_PARTS)
        fetched = context.web.fetch_page(url, context.cutoff)
        page = fetched.page
        head = _head(page)
        links = [f"link: {inert_line(link.text)} {inert_url(link.url)}" for link in self._links(page, prompt, part)]
        room = context.budget.limits.chars_per_result - len("\n".join([head, *links])) - _NOTICE_CHARS
        room = min(self.passage_chars, room)
        if self.reader is None or not page.text.strip():
            body, left = _passages(page, prompt, part, room)
        elif part == 1:
            said = context.web.read_page(page, prompt, self.reader, context.cutoff)
            body, left = [inert(said), "[part=2 shows what the page says itself]"], 0
        else:
            body, left = _passages(page, prompt, part, room, before=1)
        text, cut = context.budget.cut("\n".join([head, *body, *links]), "fetch again with a narrower prompt")
        notes = [f"{left} passages of {url}"] if left else []
        if cut:
            notes.append(f"{cut} characters of {url}")
        return ToolResult([text_block(text)], [decision.to_dict() for decision in fetched.decisions], notes)

    def _links(self, page: Page, prompt: str, part: int) -> list[Link]:
        """Returns the links of a part: those that share most words with the prompt are in the first."""
        here = _host(page.url)
        words = [set(words_of(f"{link.text} {_address(link.url, here)}")) for link in page.links]
        spread = Counter(word for found in words for word in found)
        wanted = sorted(word for word in set(words_of(prompt)) if len(word) >= _SHORTEST_WORD or not word.isascii())
        scores = [sum(math.log(1 + len(words) / spread[word]) for word in wanted if word in found) for found in words]
        ranked = sorted((i for i, score in enumerate(scores) if score > 0), key=lambda i: (-scores[i], i))
        return [page.links[i] for i in ranked[(part - 1) * self.links : part * self.links]]


def _head(page: Page) -> str:
    date = f"({inert_line(page.published)})" if page.published else ""
    return " ".join(filter(None, (inert_line(page.title), date, inert_url(page.url))))


class _Careful:
    """A reader that is shown inert pages: no page can speak to its model in control tokens."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.name = reader.name
        self.version = reader.version
        self.spending = reader.spending if isinstance(reader, Metered) else Spending()

    def read(self, page: Page, prompt: str) -> str:
        """Returns what the reader says."""
        published = None if page.published is None else inert_line(page.published)
        shown = replace(page, title=inert_line(page.title), url=inert_url(page.url), text=inert(page.text), published=published)
        return self._reader.read(shown, inert(prompt))


def _passages(page: Page, prompt: str, part: int, room: int, before: int = 0) -> tuple[list[str], int]:
    """Returns the lines of a part, and how many passages are in later ones.

    Args:
        page: The page.
        prompt: What is looked for.
        part: Its number.
        room: Characters of passages.
        before: How many parts come before the first with passages.

    Raises:
        ToolError: If the page has no such part.
    """
    parts = deal_passages(page.text, prompt, room)
    last = max(1, len(parts)) + before
    if part > last:
        raise ToolError(f"web_fetch: 'part' can be at most {last} for this page and prompt")
    if not parts:
        return ["The page has no text."], 0
    first = part - 1 - before
    lines = [inert(passage) for passage in parts[first]]
    left = sum(map(len, parts[first + 1 :]))
    if left:
        lines.append(f"[{left} passages of the page that fit the prompt less are left out; part={part + 1} shows more]")
    return lines, left


def _address(url: str, here: str) -> str:
    """Returns what an address says, without the host it shares with the page it stands on."""
    host = _host(url)
    said = url.partition("://")[2]
    return unquote(said.removeprefix(host) if host == here else said).replace("_", " ")


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]
