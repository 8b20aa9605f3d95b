"""Web, judge, generator and readers, each asked once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.trainers.preflight.conftest import Check, Make
from trainers.checks.all import run_check
from trainers.checks.finding import Status
from wildenv.registration import make_web
from wildenv.web.store import Store


class Answering(BaseHTTPRequestHandler):
    """Chats like an endpoint, lists models, and writes down what it was sent."""

    status = 200
    asked: list[dict[str, Any]] = []  # noqa: RUF012 - one list for each server, see `endpoint`

    def do_GET(self) -> None:
        self._send({"data": []})

    def do_POST(self) -> None:
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        message = {"role": "assistant", "content": "ready"}
        self._send(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": "m",
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
        )

    def _send(self, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def endpoint(status: int = 200) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    asked: list[dict[str, Any]] = []
    handler = type("Handler", (Answering,), {"status": status, "asked": asked})
    with HTTPServer(("127.0.0.1", 0), handler) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{made.server_port}", asked
        made.shutdown()
        thread.join()


def test_what_is_embedded_is_really_asked(check: Check) -> None:
    for name in ("web", "reward", "judge", "generator"):
        assert check(name).status is Status.PASSED
    assert "answered a search" in check("web").reason
    assert "was scored" in check("reward").reason
    assert "drew a picture of 448x336" in check("generator").reason
    for name in ("page reader", "agent's model"):
        assert check(name).status is Status.NOT_APPLICABLE


def test_rows_that_are_there_need_no_service(check: Check) -> None:
    for name in ("web", "reward", "judge", "generator", "page reader", "agent's model"):
        assert check(name, "data.path=rows", kind="sft").status is Status.NOT_APPLICABLE


def test_a_recording_must_hold_something(check: Check, tmp_path: Path) -> None:
    missing = check("web", "web=replay", f"web.store={tmp_path / 'none.sqlite'}")
    assert missing.status is Status.REFUSED
    assert "web.store" in missing.reason
    with Store(tmp_path / "empty.sqlite") as store:
        store.put("chat", "key", {}, {})
    assert "holds no record of a web" in check("web", "web=replay", f"web.store={tmp_path / 'empty.sqlite'}").reason


def test_a_recording_is_opened_and_counted(check: Check, tmp_path: Path) -> None:
    path = tmp_path / "web.sqlite"
    world = {"events": 60, "seed": 3}
    live = {"mode": "record", "store": str(path), "search": "miniweb", "pages": "miniweb", "pictures": "miniweb"}
    make_web(live, world).text_search("lantern", 1, None)
    found = check("web", "web=replay", f"web.store={path}")
    assert found.status is Status.PASSED
    assert "1 text_search" in found.reason


def test_recording_is_not_begun_by_asking(check: Check, tmp_path: Path) -> None:
    path = tmp_path / "web.sqlite"
    assert check("web", "web.mode=record", f"web.store={path}").status is Status.PASSED
    assert not path.exists()


def test_a_missing_key_is_named(check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SERPER_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    found = check("web", "web=serper", f"web.store={tmp_path / 'web.sqlite'}")
    assert found.status is Status.REFUSED
    assert "SERPER_API_KEY" in found.reason
    assert "web.search.key_env" in found.reason
    drawn = check("generator", "generator=openai", "generator.model=m")
    assert drawn.status is Status.REFUSED
    assert "OPENAI_API_KEY" in drawn.reason
    assert "generator.api_key_env" in drawn.reason


@pytest.mark.loopback
def test_a_search_service_that_is_down_is_refused(check: Check, tmp_path: Path) -> None:
    with endpoint() as (url, _):
        pass
    asked = ("web=searxng", f"web.search.url={url}", f"web.store={tmp_path / 'web.sqlite'}", "web.search.rules.attempts=1")
    found = check("web", *asked)
    assert found.status is Status.REFUSED
    assert "web.search" in found.reason


@pytest.mark.loopback
def test_a_judge_is_asked_for_a_word_and_shown_a_picture(check: Check) -> None:
    with endpoint() as (url, asked):
        judge = ("judge=model", "judge.model.model=m", f"judge.model.base_url={url}/v1")
        assert check("judge", *judge).status is Status.PASSED
        assert len(asked) == 1
        assert "image_url" in json.dumps(asked[0])
    found = check("judge", *judge)
    assert found.status is Status.REFUSED
    assert "judge.model.base_url" in found.reason


@pytest.mark.loopback
def test_a_judge_that_refuses_is_named_with_its_setting(check: Check) -> None:
    with endpoint(status=400) as (url, _):
        found = check("judge", "judge=model", "judge.model.model=m", f"judge.model.base_url={url}/v1")
    assert found.status is Status.REFUSED
    assert "judge.model.model" in found.reason


def test_a_judge_in_this_process_is_not_loaded(check: Check, tmp_path: Path) -> None:
    assert check("judge", "judge=local").status is Status.NOT_CHECKED
    found = check("judge", "judge=local", f"judge.model.path={tmp_path / 'none'}")
    assert found.status is Status.REFUSED
    assert "judge.model.path" in found.reason


def test_replies_to_replay_must_be_there(check: Check, tmp_path: Path) -> None:
    replayed = ("judge=model", "judge.model.model=m", "judge.model.base_url=http://127.0.0.1:1/v1", "judge.model.mode=replay")
    path = tmp_path / "judge.sqlite"
    assert "judge.store" in check("judge", *replayed, f"judge.store={path}").reason
    with Store(path) as store:
        store.put("chat", "key", {}, {})
    assert check("judge", *replayed, f"judge.store={path}").status is Status.PASSED


@pytest.mark.loopback
def test_a_drawing_service_is_reached_and_not_asked_to_draw(check: Check) -> None:
    with endpoint() as (url, asked):
        drawing = ("generator=qwen_edit", f"generator.base_url={url}", "env.limits.references=3")
        assert check("generator", *drawing).status is Status.PASSED
        assert asked == []
    found = check("generator", *drawing)
    assert found.status is Status.REFUSED
    assert "generator.base_url" in found.reason


@pytest.mark.loopback
def test_a_key_that_is_refused_is_named(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-key")
    with endpoint(status=401) as (url, _):
        found = check("generator", "generator=openai", "generator.model=m", f"generator.base_url={url}")
    assert found.status is Status.REFUSED
    assert "generator.api_key_env" in found.reason
    assert "not-a-real-key" not in found.reason


def test_a_reward_without_what_it_needs_is_refused(check: Check) -> None:
    found = check("reward", "generator=none")
    assert found.status is Status.REFUSED
    assert "generator=compositor" in found.reason
    assert "judge=model" in check("reward", "reward=kscore").reason
    assert "reward=dual" in check("reward", "env.reward=null").reason
    assert check("judge", "env.reward=null").status is Status.NOT_APPLICABLE


@pytest.mark.loopback
def test_a_reader_and_an_agent_are_asked(check: Check) -> None:
    with endpoint() as (url, asked):
        reader = f"env.reader={{model: m, base_url: '{url}/v1'}}"
        agent = ("agent=chat", "agent.model.model=m", f"agent.model.base_url={url}/v1")
        assert check("page reader", reader).status is Status.PASSED
        assert check("agent's model", *agent, kind="sft").status is Status.PASSED
        assert len(asked) == 2
    down = check("page reader", reader)
    assert down.status is Status.REFUSED
    assert "env.reader" in down.reason
    assert "agent.model" in check("agent's model", *agent, kind="sft").reason


def test_one_service_hides_no_other(make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SERPER_API_KEY", raising=False)
    subject = make("web=serper", f"web.store={tmp_path / 'web.sqlite'}", "generator=none")
    statuses = {name: run_check(name, subject)[0].status for name in ("web", "reward", "judge", "generator")}
    assert statuses["web"] is Status.REFUSED
    assert statuses["reward"] is Status.REFUSED
    assert statuses["generator"] is not Status.PASSED
