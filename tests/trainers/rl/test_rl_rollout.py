from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest

from agents.checkpoint import Loaded
from agents.transcript import turn_seed
from tests.trainers.rl.scripted import Scripted, started, written
from trainers.rl.rollout import Limits, Roller
from trainers.rl.trace import Trace
from wildenv.errors import ConfigError
from wildenv.tools.base import ToolContext, ToolResult

SEARCH = written("image_search", query="press picture")
ANSWER = written("answer", prompt="the new thing", references=["IMG_001"])


def first_search_then_answer(trace: Trace) -> str:
    return SEARCH if not trace.turns else ANSWER


def test_what_was_drawn_is_kept_and_what_follows_is_what_training_encodes(nano: Loaded) -> None:
    encoder = nano.encoder
    generate = Scripted(encoder, first_search_then_answer)
    [session] = started()
    [trace] = Roller(encoder, generate, Limits(4000, 200)).play([session], [7])
    assert session.episode.end_reason == "answered"
    whole = encoder.encode(session.episode.messages, session.tools, session.store)
    # The template ends a turn with a line break that no model draws.
    length = len(trace)
    assert length == len(whole) - 1
    assert trace.ids == whole.input_ids[:length]
    assert trace.types == whole.mm_token_type_ids[:length]
    assert trace.drawn == [kind != 0 for kind in whole.classes[:length]]
    patches = trace.prompted().pixel_values
    assert patches is not None
    assert whole.pixel_values is not None
    assert patches.equal(whole.pixel_values)
    # Every prompt is the beginning of the chat, and every turn has a seed of its own.
    assert all(trace.ids[: len(prompt)] == prompt for prompt in generate.prompts)
    assert len(generate.prompts[0]) == trace.prompt
    assert generate.seeds == [turn_seed(7, 1), turn_seed(7, 2)]
    assert not trace.truncated
    assert not trace.repeated
    assert [log_prob for log_prob, drawn in zip(trace.log_probs, trace.drawn, strict=True) if not drawn].count(
        0.0
    ) == trace.drawn.count(False)


def test_ids_that_decode_to_the_same_text_are_not_exchanged(nano: Loaded) -> None:
    tokenizer = nano.encoder.tokenizer
    spelled = [one for letter in SEARCH for one in tokenizer(letter, add_special_tokens=False)["input_ids"]]
    said = [*spelled, tokenizer.eos_token_id]
    [session] = started()
    [trace] = Roller(nano.encoder, Scripted(nano.encoder, lambda t: ANSWER if t.turns else said), Limits(4000, 400)).play(
        [session], [0]
    )
    assert trace.turns[0] == said
    assert trace.ids[trace.prompt : trace.prompt + len(said)] == said
    assert trace.ids != nano.encoder.encode(session.episode.messages, session.tools, session.store).input_ids


def test_a_turn_that_was_cut_is_closed_but_not_learnt(nano: Loaded) -> None:
    end = nano.encoder.tokenizer.eos_token_id
    cut = nano.encoder.tokenizer('<tool_call>\n{"name":"image', add_special_tokens=False)["input_ids"]
    [session] = started()
    [trace] = Roller(nano.encoder, Scripted(nano.encoder, lambda trace: ANSWER if trace.turns else cut), Limits(4000, 200)).play(
        [session], [0]
    )
    place = trace.prompt + len(cut)
    assert trace.ids[place] == end
    assert not trace.drawn[place]
    assert not trace.truncated, "its last turn was whole"
    [session] = started()
    [trace] = Roller(nano.encoder, Scripted(nano.encoder, lambda _: cut), Limits(4000, 200)).play([session], [0])
    assert session.episode.end_reason == "turns"
    assert trace.truncated
    assert trace.repeated


def test_a_rollout_ends_before_a_turn_that_would_not_fit(nano: Loaded) -> None:
    [probe] = started()
    [whole] = Roller(nano.encoder, Scripted(nano.encoder, first_search_then_answer), Limits(4000, 200)).play([probe], [0])
    room = whole.prompt + 200 + 10
    [session] = started()
    [trace] = Roller(nano.encoder, Scripted(nano.encoder, first_search_then_answer), Limits(room, 200)).play([session], [0])
    assert session.episode.end_reason == "context"
    assert session.episode.failure is None
    assert trace.truncated
    assert len(trace) <= room
    assert trace.drawn[-1], "what no turn follows is not in the sequence"
    assert not trace.pictures
    with pytest.raises(ConfigError, match=r"trainer\.max_length"):
        Roller(nano.encoder, Scripted(nano.encoder, first_search_then_answer), Limits(whole.prompt + 100, 101)).play(
            started(), [0]
        )


def test_the_same_turn_twice_in_a_row_is_a_repetition_and_repeated_searches_are_counted(nano: Loaded) -> None:
    other = written("image_search", query="Press  Picture")
    turns = [SEARCH, other, SEARCH, ANSWER]
    [session] = started()
    [trace] = Roller(nano.encoder, Scripted(nano.encoder, lambda trace: turns[len(trace.turns)]), Limits(6000, 200)).play(
        [session], [0]
    )
    assert trace.searches() == (3, 2)
    assert not trace.repeated
    [session] = started()
    [trace] = Roller(
        nano.encoder, Scripted(nano.encoder, lambda t: ANSWER if len(t.turns) > 1 else SEARCH), Limits(6000, 200)
    ).play([session], [0])
    assert trace.repeated


class Wait:
    """A tool that waits until it may go on, and counts how many wait with it."""

    name = "text_search"

    def __init__(self, seconds: float) -> None:
        self.seconds, self.lock, self.now, self.most = seconds, threading.Lock(), 0, 0

    def schema(self) -> dict[str, Any]:
        return {
            "type": "function",
            "function": {"name": self.name, "description": "Wait.", "parameters": {"type": "object", "properties": {}}},
        }

    def run(self, context: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(self.seconds)
        with self.lock:
            self.now -= 1
        return ToolResult([{"type": "text", "text": "done"}], [])


def waiting(tool: Wait, count: int) -> list[Any]:
    sessions = started(count)
    for session in sessions:
        session.env._tools = {tool.name: tool}
    return sessions


def wait_then_answer(trace: Trace) -> str:
    return written("answer", prompt="the new thing", references=[]) if trace.turns else written("text_search")


@pytest.mark.parametrize(("concurrency", "most"), [(None, 12), (3, 3)])
def test_tools_of_a_turn_run_at_once(nano: Loaded, concurrency: int | None, most: int) -> None:
    tool = Wait(0.2)
    roller = Roller(nano.encoder, Scripted(nano.encoder, wait_then_answer), Limits(4000, 200, concurrency=concurrency))
    traces = roller.play(waiting(tool, 12), list(range(12)))
    assert tool.most == most
    assert all(trace.session.episode.end_reason == "answered" for trace in traces)
    assert [trace.session.episode.task_id for trace in traces] == [
        f"miniweb-{trace.session.episode.task_id[-5:]}" for trace in traces
    ]


def test_a_rollout_past_its_deadline_is_a_failure_of_the_infrastructure_and_no_other_is(nano: Loaded) -> None:
    slow, quick = Wait(1.2), Wait(0.0)
    sessions = [*waiting(slow, 1), *waiting(quick, 3)]
    roller = Roller(nano.encoder, Scripted(nano.encoder, wait_then_answer), Limits(4000, 200, deadline_s=0.6))
    began = time.monotonic()
    late, *punctual = roller.play(sessions, [0, 1, 2, 3])
    assert time.monotonic() - began < 1.1, "nobody waits longer than the deadline"
    assert late.session.episode.end_reason == "deadline"
    assert "rollout.deadline_s" in (late.session.episode.failure or "")
    assert [trace.session.episode.end_reason for trace in punctual] == ["answered"] * 3
    stuck = late.session.env
    late.session.start(late.session.env.tasks[0].id)
    assert late.session.env is not stuck, "a thread may still be in the old environment"
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "rollout"), "the process can end"


def test_drawing_is_on_the_clock_of_all(nano: Loaded) -> None:
    def slowly(trace: Trace) -> str:
        time.sleep(0.3)
        return wait_then_answer(trace)

    roller = Roller(nano.encoder, Scripted(nano.encoder, slowly), Limits(4000, 200, deadline_s=0.2))
    [trace] = roller.play(waiting(Wait(0.0), 1), [0])
    assert trace.session.episode.end_reason == "deadline"


def test_limits_out_of_range_are_refused(nano: Loaded) -> None:
    generate = Scripted(nano.encoder, wait_then_answer)
    for limits, name in (
        (Limits(100, 100), "max_new_tokens"),
        (Limits(100, 10, concurrency=0), "concurrency"),
        (Limits(100, 10, deadline_s=0), "deadline_s"),
    ):
        with pytest.raises(ConfigError, match=name):
            Roller(nano.encoder, generate, limits)
