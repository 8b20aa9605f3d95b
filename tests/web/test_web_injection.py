"""What a real page, fetched and extracted, may say to an agent: nothing of it is acted upon."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from datetime import date
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.fakes import call, draw, make_env
from tests.tools.test_tool_fence import INJECTIONS, NOTICE, TOKEN
from tests.web.documents import pdf
from wildenv.budget import Limits
from wildenv.env import WildEnv
from wildenv.errors import MessageError
from wildenv.messages import parse_action, read_observation
from wildenv.web.client import WebClient
from wildenv.web.extract import Extractor
from wildenv.web.net.fetch import Fetcher
from wildenv.web.net.manners import Rules
from wildenv.web.providers.base import Parts
from wildenv.web.providers.direct import DirectPages, DirectPictures
from wildenv.web.results import ImageHit, TextHit

pytestmark = pytest.mark.loopback


def _text(said: str) -> tuple[str, bytes]:
    return "text/plain; charset=utf-8", f"lantern\n\n{said}\n\n{said} lantern".encode("utf-8", "surrogatepass")


def _html(said: str) -> tuple[str, bytes]:
    # Once as text that is meant to be read, and once as it is: markup that a parser has to deal with.
    shown = escape(said)
    page = f"""<!doctype html><meta charset="utf-8"><title>{shown}</title><meta name="author" content="{shown}">
        <article><h1>{shown}</h1><p>The lantern is teal. {shown}</p><p>{said}</p><ul><li>{shown}</li></ul>
        <p><a href="/lantern/{shown}">lantern {shown}</a></p><pre>{shown}</pre></article>"""
    return "text/html", page.encode("utf-8", "surrogatepass")


def _pdf(said: str) -> tuple[str, bytes]:
    title = "".join(f"\\{byte:03o}" for byte in b"\xfe\xff" + said.encode("utf-16-be", "surrogatepass"))
    body = "".join(f"\\{byte:03o}" for byte in f"The lantern says {said}".encode("cp1252", "replace"))
    return "application/pdf", pdf([body], title)


FORMS: dict[str, Callable[[str], tuple[str, bytes]]] = {"text": _text, "html": _html, "pdf": _pdf}


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """Serves ``/FORM/NUMBER`` for every injection, and a picture."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            form, number = self.path.split("/")[1:3]
            kind, body = ("image/png", draw("teal")) if form == "picture" else FORMS[form](INJECTIONS[int(number)])
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(5)


class Search:
    """Finds the page and the picture of one number, and repeats what the page says of itself."""

    name, version, local = "search", "1", False

    def __init__(self, site: str, form: str, number: int) -> None:
        self._page = f"{site}/{form}/{number}"
        self._picture = f"{site}/picture/{number}"
        self._said = INJECTIONS[number]

    def text_search(self, query: str, limit: int, cutoff: date | None) -> list[TextHit]:
        return [TextHit(f"lantern {self._said}", self._page, self._said, "2026-05-01")]

    def image_search(self, query: str, limit: int, cutoff: date | None) -> list[ImageHit]:
        return [ImageHit(f"lantern {self._said}", self._picture, f"{self._page}?{self._said}", "2026-05-01")]


@pytest.fixture(scope="module")
def fetched(site: str) -> Iterator[tuple[DirectPages, DirectPictures]]:
    fetcher = Fetcher(rules=Rules(attempts=1), allow=(site.removeprefix("http://"),))
    extractor = Extractor(workers=1)
    yield DirectPages(fetcher, extractor), DirectPictures(fetcher)
    extractor.close()


def shown(env: WildEnv, action: dict[str, Any]) -> str:
    """Plays an action and returns what the tool showed, without what the environment itself writes around it."""
    observation, _, terminated, truncated, _ = env.step(action)
    assert not terminated
    assert not truncated
    with pytest.raises(MessageError):
        parse_action(observation["text"])
    (blocks,) = read_observation(observation["text"])
    assert blocks.count("<image>") == len(observation["images"])
    body = observation["text"].removeprefix("<tool_response>\n").removesuffix("\n</tool_response>")
    if observation["images"]:
        body = body.replace("IMG_001: ", "", 1).replace("\n<image>", "", 1)
    lines = [line for line in body.split("\n") if not re.match(r"\[(?:1\] |\d+ passages)", line)]
    assert not TOKEN.search(body)
    assert not NOTICE.search("\n".join(lines))
    return body


@pytest.mark.parametrize("form", FORMS)
def test_nothing_a_fetched_page_says_is_acted_upon(site: str, fetched: tuple[DirectPages, DirectPictures], form: str) -> None:
    reached = 0
    for number in range(len(INJECTIONS)):
        env = make_env(web=WebClient(Parts(Search(site, form, number), *fetched)), limits=Limits(tool_calls=9))
        env.reset(seed=0)
        shown(env, call("text_search", queries=["lantern"]))
        page = shown(env, call("web_fetch", url=f"{site}/{form}/{number}", prompt="what does the lantern say?"))
        shown(env, call("image_search", query="lantern"))
        assert env.episode.answer is None
        assert [step["ok"] for step in env.episode.steps] == [True] * 3
        assert [step["name"] for step in env.episode.steps] == ["text_search", "web_fetch", "image_search"]
        reached += "owned" in page
    # It is the page's own words that went through all of it.
    assert reached >= 10
