"""Turns written down beforehand, in place of a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from agents.encode import TrajectoryEncoder
from tests.trainers.rl.settings import env_settings
from trainers.rl.trace import Trace, Turn
from wildenv.adapters.trl import Session
from wildenv.env import WildEnv
from wildenv.registration import make_env

Script = Callable[[Trace], str | list[int]]


def written(name: str, **arguments: Any) -> str:
    """Returns a call as conf/model/nano.jinja renders it."""
    function = json.dumps({"name": name, "arguments": arguments}, separators=(",", ":"))
    return f"<tool_call>\n{function}\n</tool_call>"


class Scripted:
    """Says what a script says for a trace: a text, which is ended, or ids as they are."""

    def __init__(self, encoder: TrajectoryEncoder, script: Script) -> None:
        self.encoder, self.script, self.prompts, self.seeds = encoder, script, [], []
        self.prompts: list[list[int]]
        self.seeds: list[int]

    def __call__(self, traces: Sequence[Trace], seeds: Sequence[int]) -> list[Turn]:
        self.prompts += [list(trace.prompted().input_ids) for trace in traces]
        self.seeds += seeds
        return [self._turn(self.script(trace)) for trace in traces]

    def _turn(self, said: str | list[int]) -> Turn:
        tokenizer = self.encoder.tokenizer
        ids = (
            said if isinstance(said, list) else [*tokenizer(said, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
        )
        return Turn(ids, [-0.5] * len(ids))


def started(count: int = 1, make: Callable[[], WildEnv] | None = None, **changed: Any) -> list[Session]:
    """Returns sessions with an episode each, of the first tasks."""
    chosen = make or partial(make_env, **{**env_settings(), "tasks": "miniweb:train", "reward": None, **changed})
    sessions = [Session(chosen) for _ in range(count)]
    for number, session in enumerate(sessions):
        session.start(session.env.tasks[number].id, system_prompt="Find it.")
    return sessions
