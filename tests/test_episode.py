from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import FakeProvider, call, make_env
from wildenv.env import WildEnv
from wildenv.episode import ROWS, Episode, EpisodeWriter, LatestEpisodes, read_episodes
from wildenv.errors import DataError
from wildenv.images import ImageStore, digest_of
from wildenv.messages import digests_of
from wildenv.web.results import ImageHit


def _played() -> WildEnv:
    env = make_env()
    env.reset(seed=5, options={"policy": "script"})
    env.step(call("text_search", queries=["lantern"]))
    env.step("not a call")
    env.step(call("image_search", query="lantern"))
    env.step(call("crop_image", image_id="IMG_001", box=[0, 0, 500, 500]))
    env.step(call("answer", prompt="a teal lantern", references=["IMG_001"]))
    return env


def _row() -> dict[str, Any]:
    row: dict[str, Any] = json.loads(json.dumps(_played().episode.to_dict()))
    return row


def test_an_episode_is_read_back_as_it_was_with_its_pictures(tmp_path: Path) -> None:
    env = _played()
    EpisodeWriter(tmp_path).append(env.episode, env.store)
    (episode,) = read_episodes(tmp_path)
    assert episode.to_dict() == json.loads(json.dumps(env.episode.to_dict()))
    assert episode.digest() == env.episode.digest()
    images = ImageStore(tmp_path / "images")
    wanted = {row[name] for row in episode.images for name in ("digest", "source")}
    assert set(digests_of(episode.messages)) <= wanted
    assert all(digest_of(images.png(digest)) == digest for digest in wanted)


def test_a_second_writer_appends(tmp_path: Path) -> None:
    env = _played()
    for _ in range(2):
        EpisodeWriter(tmp_path).append(env.episode, env.store)
    assert len(list(read_episodes(tmp_path))) == 2


def test_a_full_disk_is_named_and_costs_only_the_episode(tmp_path: Path) -> None:
    code = """
import resource, signal, sys
from pathlib import Path
from tests.test_episode import _played
from wildenv.episode import ROWS, EpisodeWriter
from wildenv.errors import ConfigError

folder = Path(sys.argv[1])
env, writer = _played(), EpisodeWriter(folder)
writer.append(env.episode, env.store)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ((folder / ROWS).stat().st_size + 100, resource.RLIM_INFINITY))
try:
    writer.append(env.episode, env.store)
except ConfigError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
writer.append(env.episode, env.store)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
    assert f"folder={tmp_path} cannot be written (File too large)" in done.stdout
    assert len(list(read_episodes(tmp_path))) == 2


def test_a_torn_last_line_is_passed_over_and_then_dropped(tmp_path: Path) -> None:
    env = _played()
    EpisodeWriter(tmp_path).append(env.episode, env.store)
    whole = (tmp_path / ROWS).read_bytes()
    for torn in (b'{"task": {"id', b"{}", b"x" * 200_000):
        (tmp_path / ROWS).write_bytes(whole + torn)
        assert len(list(read_episodes(tmp_path))) == 1
        EpisodeWriter(tmp_path)
        assert (tmp_path / ROWS).read_bytes() == whole
    (tmp_path / ROWS).write_bytes(whole[:-1])
    EpisodeWriter(tmp_path)
    assert (tmp_path / ROWS).read_bytes() == b""


def test_the_digest_covers_all_but_the_timings() -> None:
    episode = _played().episode
    digest = episode.digest()
    episode.timings = [9.0] * len(episode.timings)
    assert episode.digest() == digest
    for name, value in (("seed", 6), ("web", "other"), ("reward", 0.5), ("policy", "p"), ("answer", None), ("steps", [])):
        kept = getattr(episode, name)
        setattr(episode, name, value)
        assert episode.digest() != digest, name
        setattr(episode, name, kept)
    assert episode.digest() == digest


def test_titles_that_no_file_can_hold_do_not_break_the_record(tmp_path: Path) -> None:
    hit = ImageHit("lantern \ud800", "https://a.example/\udfff.png", "https://a.example", None)
    provider = FakeProvider(pictures=[(hit, FakeProvider().pictures[0][1])])
    env = make_env(provider)
    env.reset(seed=0)
    env.step(call("image_search", query="lantern"))
    env.step(call("answer", prompt="p", references=["IMG_001"]))
    EpisodeWriter(tmp_path).append(env.episode, env.store)
    assert [episode.digest() for episode in read_episodes(tmp_path)] == [env.episode.digest()]


def test_a_folder_without_episodes_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no episodes there"):
        list(read_episodes(tmp_path / "none"))


@pytest.mark.parametrize(
    "line", [b"{oops", b"[1]", b"{}", b"\xff\xfe", b'{"schema_version": 1, "task": 3}', pytest.param(b"[" * 100_000, id="deep")]
)
def test_a_damaged_line_is_named(tmp_path: Path, line: bytes) -> None:
    env = _played()
    EpisodeWriter(tmp_path).append(env.episode, env.store)
    with (tmp_path / ROWS).open("ab") as rows:
        rows.write(line + b"\n")
    found = read_episodes(tmp_path)
    next(found)
    with pytest.raises(DataError, match=r"episodes\.jsonl, line 2"):
        next(found)


VERDICT = {"judge": "j", "value": 1.0, "reason": "", "evidence": {}, "usage": {}}


def _reply(row: dict[str, Any]) -> dict[str, Any]:
    return next(message for message in row["messages"] if message["role"] == "tool")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda row: row.update(schema_version=99), "schema version 99; this release reads 1 and 2"),
        (lambda row: row.pop("schema_version"), "schema version None"),
        (lambda row: row.update(extra=1), "unknown fields \\['extra'\\]"),
        (lambda row: row.pop("web"), "missing fields \\['web'\\]"),
        (lambda row: row["task"].pop("id"), "no id"),
        (lambda row: row.update(end_reason="bored"), "end reason 'bored'"),
        (lambda row: row.update(end_reason="web"), "'failure' goes with"),
        (lambda row: row.update(failure="x"), "'failure' goes with"),
        (lambda row: row.update(images=[]), "'images' does not list"),
        (lambda row: row["messages"][2].update(role="robot"), "role 'robot'"),
        (lambda row: row["messages"].pop(2), "which was not called"),
        (lambda row: _reply(row).update(tool_call_id="zzz"), "which was not called"),
        (lambda row: row["answer"].update(references=["IMG_077"]), "'IMG_077', which was never shown"),
        (lambda row: row["timings"].pop(), "timings"),
        (lambda row: row.update(reward=float("nan")), "not finite"),
        (lambda row: row.update(reward="1"), "reward must be a number, not '1'"),
        (lambda row: row.update(task=[]), "task must be an object"),
        (lambda row: row["task"].update(meta=3), "task.meta must be an object"),
        (lambda row: row.update(verdicts={}), "verdicts must be a list of objects"),
        (lambda row: row["verdicts"].append("good"), "verdicts must be a list of objects"),
        (lambda row: row["verdicts"].append({**VERDICT, "value": "1"}), r"verdicts\[\d\].value must be a finite number or null"),
        (lambda row: row["verdicts"].append({**VERDICT, "judge": None}), r"verdicts\[\d\].judge must be a text"),
        (lambda row: row["verdicts"].append({**VERDICT, "evidence": []}), r"verdicts\[\d\].evidence must be an object"),
        (
            lambda row: row["verdicts"].append({**VERDICT, "parts": {"a": "b"}}),
            "parts must be an object of finite numbers or nulls",
        ),
        (
            lambda row: row["verdicts"].append({**VERDICT, "evidence": {"ground_truth": 3}}),
            "ground_truth must be a list of texts",
        ),
        (lambda row: row.update(rewards=[1.0]), "rewards must be an object of finite numbers"),
        (lambda row: row.update(rewards={"search": True}), "rewards must be an object of finite numbers"),
        (lambda row: row.update(decisions=[{"call": "c"}]), r"decisions\[0\].url is missing"),
        (lambda row: row.update(decisions=[3]), "decisions must be a list of objects"),
        (lambda row: row["steps"][0].update(ok=1), r"steps\[0\].ok must be true or false"),
        (lambda row: row["steps"][0].update(notes="n"), r"steps\[0\].notes must be a list of texts"),
        (lambda row: row["images"][0].update(size=[3]), r"images\[0\].size must be two whole numbers"),
        (lambda row: row["images"][0].update(size=["a", "b"]), r"images\[0\].size must be two whole numbers"),
        (lambda row: row["images"][0].pop("source"), r"images\[0\].source is missing"),
        (lambda row: row["images"][0].update(box=[1]), r"images\[0\].box must be four numbers or null"),
        (lambda row: row["timings"].__setitem__(0, "long"), "timings must be a list of finite numbers"),
        (lambda row: row.update(usage={"turns": "two"}), "usage must be an object of finite numbers"),
        (lambda row: row.update(drawn={"digest": "a"}), "drawn.generator is missing"),
        (lambda row: row.update(drawn="a"), "drawn must be an object or null"),
        (lambda row: row.update(answer={"prompt": "p", "references": "IMG_001"}), "answer.references must be a list of texts"),
        (lambda row: row.update(answer={"references": []}), "answer.prompt is missing"),
        (lambda row: row["messages"].append("hello"), "messages must be a list of objects"),
        (lambda row: row["messages"][0].update(content="hello"), r"messages\[0\].content must be a list of objects"),
        (lambda row: row["messages"][0]["content"][0].pop("text"), r"messages\[0\].content\[0\].text is missing"),
        (lambda row: row["messages"][0]["content"][0].update(type="sound"), r"content\[0\].type is 'sound', none of text, image"),
        (lambda row: row["messages"][2].update(tool_calls=[{"id": "c"}]), r"messages\[2\].tool_calls\[0\].function is missing"),
        (lambda row: _reply(row).pop("name"), "name is missing; it is a text"),
    ],
)
def test_an_episode_whose_parts_disagree_is_refused(damage: Any, says: str) -> None:
    row = _row()
    Episode.from_dict(row)
    damage(row)
    with pytest.raises(DataError, match=says):
        Episode.from_dict(row)


def test_the_writer_refuses_what_the_reader_would(tmp_path: Path) -> None:
    env = _played()
    env.episode.end_reason = "web"
    with pytest.raises(DataError, match="'failure' goes with"):
        EpisodeWriter(tmp_path).append(env.episode, env.store)
    assert not (tmp_path / ROWS).exists()


def test_a_failed_copy_is_whole_and_leaves_the_episode_alone() -> None:
    env = make_env()
    env.reset(seed=0)
    env.step(call("image_search", query="lantern"))
    copy = env.episode.failed("deadline", "too slow")
    env.step(call("image_search", query="grey"))
    copy.validate()
    assert (copy.end_reason, copy.failure, copy.reward, copy.reward_valid) == ("deadline", "too slow", 0.0, False)
    assert (len(copy.messages), len(copy.images), copy.usage["tool_calls"]) == (4, 5, 1)
    assert len(env.episode.messages) == 6
    assert env.episode.failure is None


def test_the_latest_records_come_in_a_fixed_order(tmp_path: Path) -> None:
    writer = EpisodeWriter(tmp_path)
    for task_id, seed, policy in (("b", 1, "first"), ("a", 2, "first"), ("b", 1, "second"), ("a", 1, "first")):
        episode = Episode({"id": task_id}, "w", seed, policy, [], [], end_reason="turns")
        writer.append(episode, ImageStore())
    found = LatestEpisodes(tmp_path)
    assert len(found) == 3
    assert [(e.task_id, e.seed, e.policy) for e in found] == [("a", 1, "first"), ("a", 2, "first"), ("b", 1, "second")]
