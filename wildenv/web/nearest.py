"""Finds the recorded request that is nearest to one that was not recorded, for the message of a `CacheMiss`.

Nearest is the one with the fewest differing fields and then with the most similar text. It reads every recorded request of a tool
once and keeps them; entries written later are not considered.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from difflib import SequenceMatcher

from wildenv.web.request import WebRequest

_COMPARED = 64
"""Texts that are compared character by character; more are first ranked by the words they share."""


class NearestRequests:
    """The recorded requests of one tool, grouped by everything but their text.

    Args:
        requests: All of one tool.
    """

    def __init__(self, requests: Iterable[WebRequest]) -> None:
        self._groups: dict[str, dict[str, WebRequest]] = {}
        for request in requests:
            self._groups.setdefault(_frame(request), {}).setdefault(request.text, request)

    def find(self, wanted: WebRequest) -> WebRequest | None:
        """Returns the nearest recorded request, or None if nothing is recorded."""
        fewest, candidates = 0, list[WebRequest]()
        for group in self._groups.values():
            same_text = group.get(wanted.text)
            members = [same_text] if same_text is not None else list(group.values())
            differing = len(wanted.difference(members[0]))
            if not candidates or differing < fewest:
                fewest, candidates = differing, members
            elif differing == fewest:
                candidates += members
        if len(candidates) > _COMPARED:
            words = set(wanted.text.split())
            candidates = heapq.nlargest(_COMPARED, candidates, key=lambda one: len(words.intersection(one.text.split())))
        matcher = SequenceMatcher(autojunk=False)
        matcher.set_seq2(wanted.text)

        def rank(one: WebRequest) -> tuple[float, str]:
            matcher.set_seq1(one.text)
            return -matcher.ratio(), one.canonical()

        return min(candidates, key=rank, default=None)


def _frame(request: WebRequest) -> str:
    params = {name: value for name, value in request.params.items() if name not in ("query", "url")}
    return WebRequest(request.tool, request.provider, request.version, params, request.cutoff, request.extractor).canonical()
