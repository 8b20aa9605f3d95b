"""A key of a user's own provider reaches no store, no episode, no chat and no log, wherever the provider lets it slip."""

from __future__ import annotations

import json
import logging
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import FakeJudge, call, tasks
from tests.fakes import FakeProvider as Fake
from wildenv.env import WildEnv
from wildenv.errors import ProviderError, ToolError
from wildenv.rewards.search import SearchReward
from wildenv.secrets import HIDDEN, Secret, logger
from wildenv.web.client import WebClient
from wildenv.web.results import ImageHit, Page, TextHit
from wildenv.web.store import Store

KEY = "sk-live/0123456789"
SECRET = Secret(KEY)


class Leaky(Fake):
    """Writes its key into whatever it returns or raises."""

    name = "leaky"

    def text_search(self, query: str, limit: int, cutoff: date | None) -> list[TextHit]:
        if query == "broken":
            raise ProviderError(f"leaky: GET /?key={KEY} gave 500", "http 500")
        if query == "odd":
            raise KeyError(f"no field in the reply to {KEY}")
        return [TextHit(f"title {KEY}", f"https://a.example/?key={KEY}", f"words {KEY}", "2026-05-01")]

    def image_search(self, query: str, limit: int, cutoff: date | None) -> list[ImageHit]:
        return [ImageHit(f"picture {KEY}", f"https://a.example/{KEY}.png", "https://a.example/", "2026-05-01")]

    def fetch_page(self, url: str, cutoff: date | None) -> Page:
        if url.endswith("missing"):
            raise ToolError(f"there is no page {url} for {KEY}")
        return Page(url, KEY, f"It says {KEY} here.", "2026-05-01")


ACTIONS = [
    call("text_search", queries=["lantern", f"with {KEY}"]),
    call("image_search", query="lantern"),
    call("web_fetch", url="https://a.example/page", prompt=f"what is {KEY}?"),
    call("web_fetch", url="https://a.example/missing", prompt="what?"),
    call("no_such_tool", query=KEY),
    f"no tool call but {KEY}",
]


def play(web: WebClient, *last: Any) -> tuple[WildEnv, str]:
    """Returns the environment, and all it showed and told."""
    env = WildEnv(tasks=tasks(), web=web, reward=SearchReward(FakeJudge()))
    told: list[Any] = [env.reset(seed=0)]
    told += [env.step(action) for action in (*ACTIONS, *last)]
    return env, repr(told)


@pytest.mark.parametrize("last", [call("text_search", queries=["broken"]), call("text_search", queries=["odd"])])
def test_no_key_in_an_episode_or_a_store(tmp_path: Path, last: Any) -> None:
    path = tmp_path / "web.sqlite"
    texts = []
    for mode in ("record", "replay"):
        with Store(path) as store:
            web = WebClient(Leaky(), mode, store)
            env, told = play(web, *([last] if mode == "record" else []))
            rows = json.dumps(env.episode.to_dict())
            assert "0123456789" not in rows + told
            texts.append([message["content"] for message in env.episode.messages])
            if mode == "record":
                assert HIDDEN in (env.episode.failure or "")
            store.gather()
    assert texts[0][: len(texts[1])] == texts[1]
    assert b"0123456789" not in path.read_bytes()
    assert HIDDEN.encode() in path.read_bytes()


def test_no_key_in_a_failure_told_from_outside() -> None:
    env = WildEnv(tasks=tasks(), web=WebClient(Leaky()), reward=None)
    env.reset(seed=0)
    info = env.fail("policy", f"RuntimeError: 401 for {KEY}")[-1]
    assert info["failure"] == env.episode.failure == f"RuntimeError: 401 for {HIDDEN}"


def test_what_a_service_says_of_its_failure_is_scrubbed_for_every_caller() -> None:
    with pytest.raises(ProviderError) as failed:
        WebClient(Leaky()).text_search("broken", 3, None)
    assert str(failed.value) == f"leaky: GET /?key={HIDDEN} gave 500"
    assert failed.value.kind == "http 500"
    assert failed.value.__cause__ is None


def test_no_key_in_a_row_of_any_kind_or_a_gap(tmp_path: Path) -> None:
    with Store(tmp_path / "web.sqlite") as store:
        store.put("chat", "a", {"messages": [{"content": KEY}]}, {"completion": {"text": [KEY, {"x": KEY}]}})
        store.note_gap("fetch_page", "b", {"url": KEY})
        assert store.get("chat", "a") == {"completion": {"text": [HIDDEN, {"x": HIDDEN}]}}
        store.gather()
    assert b"0123456789" not in (tmp_path / "web.sqlite").read_bytes()


def test_no_key_in_a_log(caplog: pytest.LogCaptureFixture) -> None:
    log = logger("wildenv.somewhere")
    assert logger("wildenv.somewhere") is log
    assert len(log.filters) == 1
    try:
        raise ValueError(KEY)
    except ValueError:
        log.exception("with %s", KEY)
    assert KEY not in caplog.text
    assert f"with {HIDDEN}" in caplog.text
    assert f"ValueError: {HIDDEN}" in caplog.text


def test_every_logger_of_ours_is_such_a_one() -> None:
    root = Path(__file__).parents[2] / "wildenv"
    plain = [path.name for path in root.rglob("*.py") if "logging.getLogger(" in path.read_text(encoding="utf-8")]
    assert plain == ["secrets.py"]
    assert logging.getLogger("wildenv.web.net.fetch").filters
