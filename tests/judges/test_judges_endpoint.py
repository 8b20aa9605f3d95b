"""Judges over HTTP: an endpoint that fails in its own ways, and the settings that lead to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.judges.album import Album
from tests.judges.scripted import TASK, Shelf, submission
from tests.models.fault_server import FaultServer, fail, fault_server, hang, say, send
from wildenv.errors import ConfigError
from wildenv.images import encode
from wildenv.judges.base import Judge, Verdict
from wildenv.judges.settings import make_judges
from wildenv.messages import data_url

pytestmark = pytest.mark.loopback

CONF = Path(__file__).resolve().parents[2] / "conf/judge"
ENDPOINT = {"model": "m", "base_url": "http://x"}
GOOD = json.dumps({"target": "a", "gt_shows": "b", "agent_shows": "c", "pass": True, "why": "d"})


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with fault_server() as running:
        yield running


def judges(server: FaultServer, **settings: Any) -> dict[str, Judge]:
    config = yaml.safe_load((CONF / "model.yaml").read_text(encoding="utf-8"))
    model = {**config["model"], "model": "tiny", "base_url": server.url, "timeout_s": 0.5}
    model["rules"] = {"concurrency": 4, "attempts": 2, "backoff_s": 0.01}
    return make_judges({**config, "model": model, **settings}, Shelf("teal"), None)


def judged(judge: Judge) -> Verdict:
    return asyncio.run(judge.judge(TASK, submission("teal")))


def test_a_judge_asks_an_endpoint_and_survives_what_it_does(server: FaultServer, tmp_path: Path) -> None:
    judge = judges(server, store=str(tmp_path / "judge.sqlite"))["search"]
    turns = [
        (fail(500), fail(500), "http 500"),
        (say("It passes."), say('{"pass": "true"}'), "schema"),
        (say(None, refusal="I would rather not"), None, "refusal"),
        (say(GOOD[:20], "length"), None, "length"),
        (say(GOOD, "content_filter"), None, "content filter"),
        (hang, None, "timeout"),
        (fail(401), None, "key"),
    ]
    for first, second, failure in turns:
        server.script.extend(turn for turn in (first, second) if turn is not None)
        verdict = judged(judge)
        assert (verdict.value, verdict.evidence["failure"]) == (None, failure)
        assert not server.script
    server.script.extend([fail(429, headers={"retry-after": "0"}), send("<html>"), say(GOOD)])
    assert judged(judge).value is None, "two attempts are not enough for that"
    verdict = judged(judge)
    assert (verdict.value, verdict.reason) == (1.0, "d")
    sent = [part["image_url"]["url"] for part in server.bodies[-1]["messages"][1]["content"] if part["type"] == "image_url"]
    assert sent == [data_url(encode(image.resize((28, 28))), "image/png") for image in Shelf("teal", "teal").pictures(TASK)]
    calls = server.calls
    assert judged(judges(server, store=str(tmp_path / "judge.sqlite"))["search"]) == verdict, "a later process pays nothing"
    assert server.calls == calls


def test_a_tenth_of_failures_changes_no_mean(server: FaultServer) -> None:
    judge = judges(server)["search"]
    server.script.extend(say("no") if n % 20 in (0, 1) else say(GOOD) for n in range(40))
    values = [judged(judge).value for _ in range(36)]
    scored = [value for value in values if value is not None]
    assert len(values) - len(scored) == 2
    assert sum(scored) / len(scored) == 1.0


def test_settings_make_all_judges_a_kind_can_make(server: FaultServer) -> None:
    made = judges(server)
    assert {name: judge.id for name, judge in made.items()} == {
        name: f"{name}-1:tiny" for name in ("search", "generation", "kscore", "sufficiency", "checklist")
    }
    assert judges(server, checklist_calls="each")["checklist"].id == "checklist-1-each:tiny"
    for settings in ("oracle", yaml.safe_load((CONF / "oracle.yaml").read_text(encoding="utf-8"))):
        oracles = make_judges(settings, Shelf(), Album())
        assert list(oracles) == ["search", "generation", "sufficiency"]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("vlm", r"judge\.kind='vlm' is not one of oracle, model, local"),
        ({}, r"judge\.kind=None"),
        ("oracle", r"judge\.kind=oracle knows the pictures of the miniweb only"),
        ({"kind": "oracle", "model": {}}, r"judge\.model is no setting of judge\.kind=oracle"),
        ("model", r"judge\.kind=model needs judge\.model"),
        ({"kind": "model", "model": {"model": "m", "base_url": "ftp://x"}}, r"judge\.model\.base_url='ftp://x'"),
        ({"kind": "model", "model": {**ENDPOINT, "temperature": 0}}, r"judge\.model: .*temperature"),
        (
            {"kind": "model", "model": ENDPOINT, "checklist_calls": "all"},
            r"judge\.checklist_calls='all'",
        ),
        ({"kind": "model", "model": ENDPOINT, "prompt": "p"}, r"judge\.prompt is no setting"),
        ({"kind": "local", "model": {"path": "./nowhere"}}, r"judge\.model\.path=\./nowhere holds no config\.json"),
        ({"kind": "local", "model": {"path": "x", "dtype": "int3"}}, r"judge\.model\.dtype='int3'"),
        ({"kind": "local", "model": {"path": "x", "sampling": {"max_tokens": None}}}, r"judge\.model\.sampling\.max_tokens"),
    ],
)
def test_a_wrong_setting_is_named(settings: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        make_judges(settings, Shelf(), None)


def test_the_local_entry_is_complete() -> None:
    config = yaml.safe_load((CONF / "local.yaml").read_text(encoding="utf-8"))
    made = make_judges(config, Shelf(), None)
    assert made["kscore"].id == "kscore-1:Qwen/Qwen3-VL-8B-Instruct:bfloat16"
