"""Chooses the passages of a long text that fit a prompt best.

They are ranked by the words they share with the prompt, rare ones first; a synonym or another language is not recognised. Where
nothing is shared the beginning is chosen. Chinese and Japanese, which put no spaces between words, are compared by pairs of
characters, and so is Korean.
"""

from __future__ import annotations

import math
import re
from collections import Counter

PASSAGE_CHARS = 600
"""A paragraph longer than this is split after its sentences."""

_LOOK_AHEAD = 50
"""How many passages that do not fit into a part are passed over before the next part begins."""

_UNSPACED = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"(?P<run>[{_UNSPACED}]+)|[^\W{_UNSPACED}]+")
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")


def best_passages(text: str, prompt: str, room: int) -> tuple[list[str], int]:
    """Returns the first part of what `deal_passages` returns, and how many passages were left out."""
    parts = deal_passages(text, prompt, room)
    return (parts[0], sum(map(len, parts[1:]))) if parts else ([], 0)


def deal_passages(text: str, prompt: str, room: int) -> list[list[str]]:
    """Deals the passages of a text out in parts: those that share most with the prompt first, then the next best, and so on.

    Every passage is in one part; within a part they are in the order of the text. A passage too long for what is left of a part
    gives way to a worse one that fits.

    Args:
        text: Paragraphs separated by blank lines.
        prompt: What is looked for.
        room: Characters of passages in a part at most; each part has at least one passage.
    """
    paragraphs = (" ".join(part.split()) for part in _PARAGRAPH.split(text))
    passages = [passage for paragraph in paragraphs for passage in _split(paragraph)]
    waiting = _ranked(passages, prompt)[::-1]
    parts: list[list[str]] = []
    while waiting:
        left = room
        part: list[int] = []
        passed: list[int] = []
        while waiting and len(passed) < _LOOK_AHEAD:
            i = waiting.pop()
            if part and len(passages[i]) > left:
                passed.append(i)
            else:
                part.append(i)
                left -= len(passages[i])
        waiting += reversed(passed)
        parts.append([passages[i] for i in sorted(part)])
    return parts


def words_of(text: str) -> list[str]:
    """Returns the words of a text, lower case, in order, with repetitions."""
    words: list[str] = []
    for found in _WORD.finditer(text.lower()):
        word = found.group()
        pairs = found["run"] is not None and len(word) > 1
        words += [word[i : i + 2] for i in range(len(word) - 1)] if pairs else [word]
    return words


def _ranked(passages: list[str], prompt: str) -> list[int]:
    words = [Counter(words_of(passage)) for passage in passages]
    spread = Counter(word for counts in words for word in counts)
    wanted = sorted(set(words_of(prompt)))
    scores = []
    for counts in words:
        overlap = sum(math.log(1 + len(passages) / spread[word]) for word in wanted if word in counts)
        scores.append(overlap / math.sqrt(1 + sum(counts.values())))
    return sorted(range(len(passages)), key=lambda i: (-scores[i], i))


def _split(paragraph: str) -> list[str]:
    """Splits a paragraph that is too long to be one passage after its sentences."""
    passages: list[str] = []
    for sentence in _SENTENCE.split(paragraph) if len(paragraph) > PASSAGE_CHARS else [paragraph]:
        pieces = [sentence[i : i + PASSAGE_CHARS] for i in range(0, len(sentence), PASSAGE_CHARS)]
        if passages and pieces and len(passages[-1]) + len(pieces[0]) < PASSAGE_CHARS:
            passages[-1] += f" {pieces.pop(0)}"
        passages.extend(pieces)
    return passages
