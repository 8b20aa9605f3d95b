"""A chat model that says what it is told to, through the real chat client, and a case to judge."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Mapping
from datetime import date
from itertools import pairwise
from typing import Any

from PIL import Image

from tests.models.fault_server import completion
from wildenv.images import ImageStore
from wildenv.judges.base import Drawn, Reference, Submission
from wildenv.models.chat import ChatModel
from wildenv.models.usage import Prices
from wildenv.task import Task
from wildenv.web.net.manners import Rules

TASK = Task(
    id="t",
    prompt="Draw the new Velmora lantern on a pier, next to a bicycle.",
    issued=date(2026, 5, 1),
    target="Velmora lantern",
    rubric=("The lantern is on a pier.", "There is a bicycle next to the lantern."),
)


class ScriptedLine:
    """Says one text after the other, the last one for ever; raises what is an exception."""

    base_url = "scripted"

    def __init__(self, *says: Any) -> None:
        self.says = deque(says)
        self.bodies: list[Mapping[str, Any]] = []
        self._lock = threading.Lock()

    def send(self, body: Mapping[str, Any], limit_s: float) -> str:
        with self._lock:
            self.bodies.append(body)
            say = self.says.popleft() if len(self.says) > 1 else self.says[0]
        if callable(say):
            say = say(body)
        if isinstance(say, Exception):
            raise say
        return json.dumps(completion(say if isinstance(say, str) else json.dumps(say)))

    def close(self) -> None:
        pass

    def texts(self, number: int = -1) -> str:
        """All text of the user's message of a request."""
        content = self.bodies[number]["messages"][1]["content"]
        return content if isinstance(content, str) else "\n".join(block.get("text", "<picture>") for block in content)

    def pictures(self, number: int = -1) -> list[tuple[str, str]]:
        """The pictures of a request as data URLs, each with the text before it."""
        content = self.bodies[number]["messages"][1]["content"]
        return [
            (before["text"].splitlines()[-1], block["image_url"]["url"])
            for before, block in pairwise(content)
            if block["type"] == "image_url"
        ]


def model(*says: Any, **settings: Any) -> tuple[ChatModel, ScriptedLine]:
    """Returns a chat model and the line it speaks through."""
    line = ScriptedLine(*says)
    rules = Rules(attempts=1)
    return ChatModel("wise", line.base_url, line=line, rules=rules, prices=Prices(prompt=1.0), **settings), line


class Shelf:
    """Ground truth: pictures of plain colours, the same for every task."""

    def __init__(self, *colours: str) -> None:
        self.colours = colours

    def pictures(self, task: Task) -> list[Image.Image]:
        return [plain(colour) for colour in self.colours]


def plain(colour: str) -> Image.Image:
    return Image.new("RGB", (32, 32), colour)


def submission(*colours: str, prompt: str = "a teal lantern on a pier", drawn: str | None = "gold") -> Submission:
    """Returns an answer with references of these colours, and a picture that was drawn."""
    store = ImageStore()
    digests = [store.put(plain(colour)) for colour in colours]
    references = [Reference(f"IMG_{n:03d}", digest, digest, f"u{n}") for n, digest in enumerate(digests, 1)]
    made = None if drawn is None else Drawn(store.put(plain(drawn)), "painter-1", 0)
    return Submission(prompt, tuple(references), store, drawn=made)
