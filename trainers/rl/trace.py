"""One rollout in tokens: what the model was shown and what it drew, as one sequence that is never encoded again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from agents.encode import Encoded
from wildenv.adapters.trl import Session


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model drew in one turn.

    Attributes:
        ids: Up to and with the end-of-turn token, if it was reached.
        log_probs: Of each, at the temperature it was drawn with; NaN where the backend does not tell.
    """

    ids: list[int]
    log_probs: list[float]


@dataclass(slots=True)
class Trace:
    """A rollout.

    Attributes:
        session: Its episode.
        seed: Of its draws.
        ids: The whole chat: what was encoded and what was drawn.
        drawn: For each id whether the model drew it.
        log_probs: For each id; 0 where it was not drawn.
        types: 1 where an id stands for a part of a picture.
        pictures: Digests, in the order of their places.
        pixels: Patches and grid of each piece of the chat that has pictures.
        prompt: Ids before the first turn.
        turns: What was drawn, by turn.
        cut: Whether its last turn was cut for want of room.
        seconds: In tools.
    """

    session: Session
    seed: int
    ids: list[int] = field(default_factory=list)
    drawn: list[bool] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    types: list[int] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    pixels: list[tuple[torch.Tensor, torch.Tensor]] = field(default_factory=list)
    prompt: int = 0
    turns: list[list[int]] = field(default_factory=list)
    cut: bool = False
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.ids)

    def hear(self, piece: Encoded, pictures: Sequence[str]) -> None:
        """Adds a piece of the chat that the model did not write."""
        self._add(piece.input_ids, piece.mm_token_type_ids, False, [0.0] * len(piece))
        self.pictures += pictures
        if piece.pixel_values is not None and piece.image_grid_thw is not None:
            self.pixels.append((piece.pixel_values, piece.image_grid_thw))
        if not self.turns:
            self.prompt = len(self.ids)

    def say(self, turn: Turn, end: int) -> None:
        """Adds a turn; one that was cut is closed with the end-of-turn token, which the model did not draw."""
        self.turns.append(turn.ids)
        self._add(turn.ids, [0] * len(turn.ids), True, turn.log_probs)
        self.cut = not turn.ids or turn.ids[-1] != end
        if self.cut:
            self._add([end], [0], False, [0.0])

    def prompted(self) -> Encoded:
        """Returns the chat so far as a prompt."""
        patches, grids = zip(*self.pixels, strict=True) if self.pixels else ((), ())
        return Encoded(
            self.ids,
            [],
            self.types,
            torch.cat(patches) if patches else None,
            torch.cat(grids) if grids else None,
        )

    @property
    def truncated(self) -> bool:
        """Whether it ended for want of room: its context was full, or its last turn was cut."""
        return self.cut or self.session.episode.end_reason == "context"

    @property
    def repeated(self) -> bool:
        """Whether a turn says what the turn before said, word for word."""
        return any(turn == before for before, turn in zip(self.turns, self.turns[1:], strict=False))

    def searches(self) -> tuple[int, int]:
        """Returns the number of searches, and how many of them repeat an earlier one of the rollout."""
        asked = [_query(call["function"]) for message in self.session.episode.messages for call in message.get("tool_calls", [])]
        queries = [query for query in asked if query is not None]
        return len(queries), len(queries) - len(set(queries))

    def _add(self, ids: Sequence[int], types: Sequence[int], drawn: bool, log_probs: Sequence[float]) -> None:
        self.ids += ids
        self.types += types
        self.drawn += [drawn] * len(ids)
        self.log_probs += log_probs


def _query(function: dict[str, Any]) -> tuple[str, str] | None:
    """Returns what a search asks for, told apart by words only, or None if the call is no search."""
    asked = function["arguments"].get("queries", function["arguments"].get("query"))
    if function["name"] not in ("text_search", "image_search") or asked is None:
        return None
    words = " ".join(map(str, asked)) if isinstance(asked, list) else str(asked)
    return function["name"], " ".join(words.lower().split())
