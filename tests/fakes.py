"""A small web, its tasks and a judge, for tests of what is built on them.

Hidden task fields hold words that stand nowhere else (`SECRETS`), and everything dated after the cutoff says `LATE`, so that a
test can look for either in whatever an agent is shown.
"""

from __future__ import annotations

import io
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import Any

from PIL import Image, ImageDraw

from wildenv.env import WildEnv
from wildenv.errors import ToolError
from wildenv.images import decode, digest_of, encode
from wildenv.judges.base import Submission, Verdict
from wildenv.messages import ANSWER
from wildenv.policy import Observation
from wildenv.rewards.search import SearchReward
from wildenv.task import Task, TaskList
from wildenv.web.client import WebClient
from wildenv.web.results import ImageHit, Page, TextHit

ISSUED = date(2026, 5, 1)
LATE = "LATEWORD"
SECRETS = ("hiddentarget", "hiddenfact", "hiddencriterion")
SITE = "https://lantern.example"


def draw(colour: str, size: tuple[int, int] = (224, 224), form: str = "PNG") -> bytes:
    """Draws a picture that differs with the colour."""
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).ellipse((size[0] // 8, size[1] // 8, size[0] * 7 // 8, size[1] * 7 // 8), fill=colour)
    buffer = io.BytesIO()
    image.save(buffer, format=form)
    return buffer.getvalue()


def pages() -> list[Page]:
    """Pages about a lantern: on the day, on the cutoff day, after it, undated."""
    return [
        Page(f"{SITE}/launch", "Lantern launch", "The lantern is teal.\n\nIts trim is orange.\n\nA crowd came.", "2026-05-01"),
        Page(f"{SITE}/review", "Lantern review", "We held the lantern.\n\nIts emblem is a star.", "2026-05-04"),
        Page(f"{SITE}/later", f"Lantern {LATE}", f"The lantern was repainted {LATE}.", "2026-05-05"),
        Page(f"{SITE}/undated", "Lantern fans", "Fans of the lantern meet. It is teal, they say.", None),
        Page(f"{SITE}/blank", "Lantern blank", "", "2026-04-01"),
    ]


def image_hits() -> list[tuple[ImageHit, bytes]]:
    """Pictures of the lantern; one is a page posing as a picture, one is shown at two addresses."""

    def hit(name: str, published: str | None, page: str = "launch") -> ImageHit:
        return ImageHit(f"lantern {name}", f"{SITE}/{name}.png", f"{SITE}/{page}", published)

    return [
        (hit("teal", "2026-05-01"), draw("teal")),
        (hit("later", "2026-05-05", "later"), draw("magenta")),
        (hit("posing", "2026-05-02"), b"<html>not a picture</html>"),
        (hit("red", "2026-05-03"), draw("red", (300, 150), "JPEG")),
        (hit("copy", "2026-05-03"), draw("teal")),
        (hit("undated", None, "undated"), draw("gold", (90, 400))),
        (hit("blue", "2026-05-04"), draw("blue")),
        (hit("green", "2026-05-04"), draw("green")),
        (hit("grey", "2026-05-04"), draw("grey")),
    ]


class FakeProvider:
    """Finds what shares a word with the query, in the order given. Counts what it is asked."""

    name = "fake"
    version = "1"
    local = True

    def __init__(self, found: Sequence[Page] | None = None, pictures: Sequence[tuple[ImageHit, bytes]] | None = None) -> None:
        self.pages = list(pages() if found is None else found)
        self.pictures = list(image_hits() if pictures is None else pictures)
        self.asked: Counter[str] = Counter()
        self.before: Callable[[str], None] = lambda tool: None
        self._lock = threading.Lock()

    def text_search(self, query: str, limit: int, cutoff: date | None) -> list[TextHit]:
        self._note("text_search")
        fitting = [page for page in self.pages if _share(query, f"{page.title} {page.text}")]
        return [TextHit(page.title, page.url, " ".join(page.text.split())[:160], page.published) for page in fitting][:limit]

    def image_search(self, query: str, limit: int, cutoff: date | None) -> list[ImageHit]:
        self._note("image_search")
        return [hit for hit, _ in self.pictures if _share(query, hit.title)][:limit]

    def fetch_page(self, url: str, cutoff: date | None) -> Page:
        self._note("fetch_page")
        for page in self.pages:
            if page.url == url:
                return page
        raise ToolError(f"there is no page {url}")

    def fetch_image(self, url: str) -> bytes:
        self._note("fetch_image")
        for hit, data in self.pictures:
            if hit.url == url:
                return data
        raise ToolError(f"there is no picture {url}")

    def _note(self, tool: str) -> None:
        with self._lock:
            self.asked[tool] += 1
        self.before(tool)


class FakeJudge:
    """Passes a submission that holds a picture of the task's ground truth."""

    id = "fake-judge"

    async def judge(self, task: Task, submission: Submission) -> Verdict:
        right = any(reference.root in task.ground_truth for reference in submission.references)
        return Verdict(self.id, float(right), f"{task.target} {'shown' if right else 'missing'}")


class Script:
    """A policy that says what it is told to, then answers with nothing."""

    def __init__(self, actions: Sequence[str | dict[str, Any]] = ()) -> None:
        self.actions = list(actions)

    def reset(self, task_prompt: str, tools: Sequence[dict[str, Any]], seed: int = 0) -> None:
        self._left = list(self.actions)

    async def act(self, observation: Observation) -> str | dict[str, Any]:
        return self._left.pop(0) if self._left else call("answer", prompt="a lantern", references=[])


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """Returns a tool call as a mapping."""
    return {"name": name, "arguments": arguments}


def tasks(count: int = 3) -> TaskList:
    """Returns tasks that the teal picture solves."""
    truth = digest_of(encode(decode(draw("teal"))))
    return TaskList(
        Task(
            id=f"task-{number}",
            prompt=f"Draw the new lantern in scene {number}.",
            issued=ISSUED,
            domain="goods",
            subcategory="lamps",
            meta=MappingProxyType({"number": number}),
            target=SECRETS[0],
            ground_truth=(truth,),
            rubric=(f"{SECRETS[2]} {number}",),
            facts=(SECRETS[1],),
        )
        for number in range(count)
    )


def make_env(provider: FakeProvider | None = None, judge: Any = None, **settings: Any) -> WildEnv:
    """Returns an environment over the small web."""
    values: Mapping[str, Any] = {
        "tasks": tasks(),
        "web": WebClient(provider or FakeProvider(), mode="live"),
        "reward": SearchReward(judge or FakeJudge()),
        **settings,
    }
    return WildEnv(**values)


def answer(*references: str) -> dict[str, Any]:
    """Returns an action that answers."""
    return call(ANSWER, prompt="a teal lantern", references=list(references))


def started(**settings: Any) -> WildEnv:
    """Returns an environment whose first episode has begun."""
    env = make_env(**settings)
    env.reset(seed=0)
    return env


def _share(query: str, text: str) -> bool:
    return bool(set(query.lower().split()) & set(text.lower().split()))
