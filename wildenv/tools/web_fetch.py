"""``web_fetch``: what a page says about a prompt (Savanna, appendix B).

The answer is extractive: the passages of the page that share most with the prompt, in the order of the page. A chat model
that reads the page can take its place.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from wildenv.messages import text_block
from wildenv.tools.base import Arguments, Schema, ToolContext, ToolResult, function_schema
from wildenv.tools.fence import inert, inert_line, inert_url, real_url

PASSAGE_CHARS = 600
"""A paragraph longer than this is split after its sentences."""

_WORD = re.compile(r"\w+")
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")


class WebFetch:
    """Fetches a page and returns the passages that answer a prompt.

    Args:
        passage_chars: Characters of passages that are returned at most.
    """

    name = "web_fetch"

    def __init__(self, passage_chars: int = 1_200) -> None:
        self.passage_chars = passage_chars

    def schema(self) -> Schema:
        """Returns the tool's JSON schema."""
        properties = {"url": {"type": "string"}, "prompt": {"type": "string", "description": "what to look for on the page"}}
        return function_schema(self.name, "Read a web page: what it says about the prompt.", properties, ["url", "prompt"])

    def run(self, context: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
        """Returns one text block: title, date, address, passages."""
        given = Arguments(self.name, arguments, ["url", "prompt"])
        url = real_url(given.text("url", 2_000))
        prompt = given.text("prompt", 2_000)
        fetched = context.web.fetch_page(url, context.cutoff)
        page = fetched.page
        passages, dropped = _relevant(page.text, prompt, self.passage_chars)
        date = f" ({inert_line(page.published)})" if page.published else ""
        lines = [f"{inert_line(page.title)}{date} {inert_url(page.url)}", *(inert(passage) for passage in passages)]
        if not passages:
            lines.append("The page has no text.")
        if dropped:
            lines.append(f"[{dropped} passages of the page that fit the prompt less are left out]")
        text, cut = context.budget.cut("\n".join(lines), "fetch again with a narrower prompt")
        notes = [f"{dropped} passages of {url}"] if dropped else []
        if cut:
            notes.append(f"{cut} characters of {url}")
        return ToolResult([text_block(text)], [decision.to_dict() for decision in fetched.decisions], notes)


def _relevant(text: str, prompt: str, room: int) -> tuple[list[str], int]:
    """Returns the passages that share most with the prompt, in the order of the page, and how many were left out."""
    paragraphs = (" ".join(part.split()) for part in _PARAGRAPH.split(text))
    passages = [passage for paragraph in paragraphs for passage in _split(paragraph)]
    words = [Counter(_WORD.findall(passage.lower())) for passage in passages]
    spread = Counter(word for counts in words for word in counts)
    wanted = sorted(set(_WORD.findall(prompt.lower())))
    scores = []
    for counts in words:
        overlap = sum(math.log(1 + len(passages) / spread[word]) for word in wanted if word in counts)
        scores.append(overlap / math.sqrt(1 + sum(counts.values())))
    ranked = sorted(range(len(passages)), key=lambda i: (-scores[i], i))
    chosen: list[int] = []
    for i in ranked:
        if not chosen or len(passages[i]) <= room:
            chosen.append(i)
            room -= len(passages[i])
    return [passages[i] for i in sorted(chosen)], len(passages) - len(chosen)


def _split(paragraph: str) -> list[str]:
    """Splits a paragraph that is too long to be one passage after its sentences."""
    passages: list[str] = []
    for sentence in _SENTENCE.split(paragraph) if len(paragraph) > PASSAGE_CHARS else [paragraph]:
        pieces = [sentence[i : i + PASSAGE_CHARS] for i in range(0, len(sentence), PASSAGE_CHARS)]
        if passages and pieces and len(passages[-1]) + len(pieces[0]) < PASSAGE_CHARS:
            passages[-1] += f" {pieces.pop(0)}"
        passages.extend(pieces)
    return passages
