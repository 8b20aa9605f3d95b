from __future__ import annotations

import base64
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.adapters.sample_episodes import BrokenJudge, answered, out_of_calls, web_down
from wildenv.adapters.inspect_log import inspect_log, write_inspect_log
from wildenv.episode import Episode
from wildenv.errors import ConfigError
from wildenv.images import ImageStore, digest_of
from wildenv.messages import digests_of

pytest.importorskip("inspect_ai", reason="needs the extra 'inspect'")

from inspect_ai.event import InfoEvent, ToolEvent
from inspect_ai.log import read_eval_log
from inspect_ai.model import ContentImage, ContentText


def _merged(*played: Any) -> tuple[list[Episode], ImageStore]:
    store = ImageStore()
    for env in played:
        for digest in {row[name] for row in env.episode.images for name in ("digest", "source")}:
            store.put_png(env.store.png(digest))
    return [env.episode for env in played], store


def _pictures(content: Any) -> list[str]:
    """Digests of the pictures of a message or result."""
    blocks = [one for one in content if isinstance(one, ContentImage)] if isinstance(content, list) else []
    return [digest_of(base64.b64decode(one.image.partition(",")[2])) for one in blocks]


def _texts(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [one.text for one in content if isinstance(one, ContentText)]


@pytest.mark.parametrize("suffix", [".eval", ".json"])
def test_a_log_is_read_back_by_inspect_ai_as_the_episode_was(tmp_path: Path, suffix: str) -> None:
    episodes, store = _merged(answered(), out_of_calls(), web_down())
    path = write_inspect_log(episodes, store, tmp_path / f"log{suffix}", "savanna")
    log = read_eval_log(str(path), resolve_attachments=True)
    assert (log.status, log.eval.task, log.eval.model) == ("success", "savanna", "script")
    assert log.samples is not None
    assert [sample.id for sample in log.samples] == ["task-0", "task-1", "task-2"]
    for sample, episode in zip(log.samples, episodes, strict=True):
        assert [message.role for message in sample.messages] == [message["role"] for message in episode.messages]
        shown = [digest for message in sample.messages for digest in _pictures(message.content)]
        assert shown == digests_of(episode.messages)
        for message, ours in zip(sample.messages, episode.messages, strict=True):
            ours_said = [block["text"] for block in ours["content"] if block["type"] == "text"]
            assert list(filter(None, _texts(message.content))) == ours_said
            calls = getattr(message, "tool_calls", None) or []
            assert [(one.function, one.arguments) for one in calls] == [
                (one["function"]["name"], one["function"]["arguments"]) for one in ours.get("tool_calls", [])
            ]
        tools = [event for event in sample.events if isinstance(event, ToolEvent)]
        steps = [step for step in episode.steps if step["name"]]
        assert [(one.function, one.error is None) for one in tools] == [(step["name"], step["ok"]) for step in steps]
        assert sample.metadata["digest"] == episode.digest()
        assert sample.input == episode.task["prompt"]


def test_tool_events_have_arguments_results_and_what_the_cutoff_removed() -> None:
    episodes, store = _merged(answered())
    (sample,) = inspect_log(episodes, store).samples or []
    tools = [event for event in sample.events if isinstance(event, ToolEvent)]
    assert [event.function for event in tools] == ["text_search", "image_search", "crop_image", "web_fetch", "web_fetch"]
    assert tools[0].arguments == {"queries": ["lantern"], "k": 3}
    assert len(_pictures(tools[1].result)) == 5
    assert _pictures(tools[2].result) == [episodes[0].images[-1]["digest"]]
    assert "trim is orange" in "".join(_texts(tools[3].result))
    assert tools[4].error is not None
    notes = [event for event in sample.events if isinstance(event, InfoEvent)]
    assert "unreadable turn" in {event.source for event in notes}
    removed = [row["url"] for event in notes if event.source == "removed by the cutoff" for row in event.data]  # type: ignore[union-attr, call-overload, index]
    assert removed == [row["url"] for row in episodes[0].decisions if not row["kept"]]
    assert any("later" in url for url in removed)
    stamps = [event.timestamp for event in sample.events]
    assert stamps == sorted(stamps)
    assert stamps[0].date().isoformat() == episodes[0].task["issued"]


def test_scores_explain_themselves_and_unscored_stays_unscored() -> None:
    episodes, store = _merged(answered(), answered(BrokenJudge()))
    log = inspect_log(episodes, store)
    good, bad = log.samples or []
    assert good.scores is not None
    assert bad.scores is not None
    assert good.scores["search"].value == episodes[0].rewards["search"]
    assert "fake-judge" in (good.scores["search"].explanation or "")
    assert math.isnan(bad.scores["search"].value)  # type: ignore[arg-type]
    assert bad.scores["search"].explanation == "broken-judge: unscored: the service is down"
    assert bad.error is not None
    assert bad.error.message.startswith("judge: no verdict from broken-judge")
    assert log.results is not None
    by_name = {one.name: one for one in log.results.scores}
    assert (by_name["search"].scored_samples, by_name["search"].unscored_samples) == (1, 1)
    assert by_name["search"].metrics["mean"].value == episodes[0].rewards["search"]
    assert (log.results.total_samples, log.results.completed_samples) == (2, 1)


def test_limits_are_limits_and_failures_are_errors() -> None:
    episodes, store = _merged(out_of_calls(), web_down())
    limited, failed = inspect_log(episodes, store).samples or []
    assert limited.limit is not None
    assert (limited.limit.type, limited.limit.limit) == ("custom", 1.0)
    assert limited.error is None
    assert failed.limit is None
    assert failed.error is not None
    assert failed.error.message.startswith("web: ")
    assert "search is down" in failed.error.message
    tools = [event for event in failed.events if isinstance(event, ToolEvent)]
    assert tools[0].result == []
    assert tools[0].error is not None


@pytest.mark.parametrize(("reason", "kind"), [("turns", "turn"), ("context", "context")])
def test_every_limit_has_its_kind(reason: Any, kind: str) -> None:
    episodes, store = _merged(out_of_calls())
    (sample,) = inspect_log([replace(episodes[0], end_reason=reason)], store).samples or []
    assert sample.limit is not None
    assert sample.limit.type == kind


def test_a_task_played_twice_has_two_epochs() -> None:
    episodes, store = _merged(answered())
    log = inspect_log([*episodes, replace(episodes[0], seed=9)], store)
    assert [(sample.id, sample.epoch) for sample in log.samples or []] == [("task-0", 1), ("task-0", 2)]
    assert log.eval.config.epochs == 2


def test_the_drawn_picture_is_in_the_output() -> None:
    episodes, store = _merged(answered())
    drawn = store.put(Image.new("RGB", (30, 30), "red"))
    shown = replace(episodes[0], drawn={"digest": drawn, "generator": "g", "seed": 0, "usage": {}})
    (sample,) = inspect_log([shown], store).samples or []
    assert _pictures(sample.output.message.content) == [drawn]


def test_the_same_episodes_give_the_same_log(tmp_path: Path) -> None:
    episodes, store = _merged(answered(), out_of_calls())
    first, second = (
        write_inspect_log(episodes, store, tmp_path / f"{number}.json").read_text(encoding="utf-8") for number in (1, 2)
    )
    assert first == second


def test_wrong_settings_are_named(tmp_path: Path) -> None:
    episodes, store = _merged(answered())
    with pytest.raises(ConfigError, match=r"ends with \.eval or \.json"):
        write_inspect_log(episodes, store, tmp_path / "log.txt")
    with pytest.raises(ConfigError, match="no episode to export"):
        inspect_log([], store)


def test_inspect_ai_is_imported_only_when_it_is_used() -> None:
    code = (
        "import sys, wildenv.adapters.inspect_log as module; assert 'inspect_ai' not in sys.modules\n"
        "sys.modules['inspect_ai'] = sys.modules['inspect_ai.log'] = None\n"
        "from wildenv.errors import ConfigError\n"
        "try:\n    module.inspect_log([], None)\nexcept ConfigError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    assert "pip install 'wildenv[inspect]'" in done.stdout
