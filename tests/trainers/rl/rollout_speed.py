"""How long the tools of a batch of rollouts take: TRL's own loop and ours, side by side.

``python -m tests.trainers.rl.rollout_speed CHECKPOINT`` rolls 24 rollouts of three searches and an answer, each search of 200 ms,
through TRL's `GRPOTrainer` as it is and through `trainers.rl`, over the same environments. Turns are written down beforehand, and
no two searches are alike, so that none is answered by another's; the time is the loops' own and the latency, no model is asked.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from trl import GRPOTrainer

from agents import checkpoint
from agents.encode import TrajectoryEncoder
from tests.trainers.rl.coin import CropReward
from tests.trainers.rl.scripted import Scripted, written
from tests.trainers.rl.settings import env_settings, grpo_config
from trainers.rl.arguments import grpo_arguments
from trainers.rl.dataset import task_rows
from trainers.rl.response import let_read
from trainers.rl.rollout import Limits
from trainers.rl.trainer import RolloutTrainer
from wildenv.adapters.trl import environments, reward_functions, session_of
from wildenv.env import WildEnv
from wildenv.miniweb.provider import MiniwebProvider
from wildenv.registration import make_env, make_tasks, miniworld, world_config
from wildenv.web.client import WebClient
from wildenv.web.results import TextHit


class Slow(MiniwebProvider):
    """Answers text searches late, always the same, and counts them."""

    latency_s = 0.2
    asked = 0

    def text_search(self, query: str, limit: int, cutoff: date | None) -> list[TextHit]:
        self.asked += 1
        time.sleep(self.latency_s)
        return [TextHit("A new thing", "https://news.example/thing", "It is new.", None)]


@dataclass(frozen=True, slots=True)
class Speeds:
    """Seconds of one roll of a batch.

    Attributes:
        trl: TRL's loop.
        ours: `trainers.rl.rollout`.
        searches: Searches that reached the provider, by each.
    """

    trl: float
    ours: float
    searches: tuple[int, int]


def compare(model: Path, rollouts: int = 24, searches: int = 3, latency_s: float = 0.2) -> Speeds:
    """Rolls one batch through each loop."""
    provider = Slow(miniworld(world_config(env_settings()["world"])))
    provider.latency_s = latency_s
    web = WebClient(provider)
    with tempfile.TemporaryDirectory() as folder:
        made = [_trainer(kind, model, Path(folder) / kind, web, rollouts, searches) for kind in ("trl", "ours")]
        seconds, asked = [], []
        for trainer in made:
            rows = [trainer.train_dataset[0] for _ in range(rollouts)]
            trainer.model.train()
            before = provider.asked
            seconds.append(_timed(trainer, rows))
            asked.append(provider.asked - before)
    return Speeds(seconds[0], seconds[1], (asked[0], asked[1]))


def _trainer(kind: str, model: Path, folder: Path, web: WebClient, rollouts: int, searches: int) -> GRPOTrainer:
    config = grpo_config(model, group=rollouts, prompts=1, micro_batch=rollouts, max_length=8000)
    tasks = make_tasks("miniweb:train", env_settings()["world"])
    rewards = reward_functions(CropReward())
    arguments = grpo_arguments(config, folder, rewards)
    arguments.max_tool_calling_iterations = 12
    loaded = checkpoint.from_config(config["model"])
    let_read(loaded.tokenizer)
    limits = {**env_settings()["limits"], "tool_calls": searches + 1, "tokens": 20_000}

    def make() -> WildEnv:
        return make_env(**{**env_settings(), "limits": limits, "tasks": tasks, "web": web, "reward": None})

    shared: dict[str, Any] = {
        "model": loaded.model,
        "args": arguments,
        "train_dataset": task_rows(tasks, 1, "Find it."),
        "processing_class": loaded.processor,
        "environment_factory": environments(make),
    }
    if kind == "trl":
        trainer = _Trl(reward_funcs=[one.function for one in rewards], **shared)
        trainer.script = partial(_turn, searches)
        trainer.encoder = loaded.encoder
        return trainer
    scripted = Scripted(loaded.encoder, lambda trace: _turn(searches, len(trace.turns), f"ours {trace.seed}"))
    return RolloutTrainer(encoder=loaded.encoder, generate=scripted, limits=Limits(8000, 300), rewards=rewards, **shared)


def _turn(searches: int, turn: int, rollout: str) -> str:
    if turn < searches:
        return written("text_search", queries=[f"press picture {turn} for {rollout}"], k=2)
    return written("answer", prompt="the new thing", references=[])


class _Trl(GRPOTrainer):
    """TRL's trainer with turns that are written down."""

    encoder: TrajectoryEncoder
    script: Any

    def _generate_single_turn(self, prompt_ids: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        # All rollouts are at the same turn.
        session = session_of(self.environments[0])
        turn = [message["role"] for message in session.episode.messages].count("assistant")
        tokenizer = self.encoder.tokenizer
        said = ["done" if session.ended else self.script(turn, f"theirs {row}") for row in range(len(prompt_ids))]
        return [[*tokenizer(one, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id] for one in said], None


def _timed(trainer: Any, rows: list[Any]) -> float:
    seconds = []
    inner = trainer._generate

    def timed(prompts: Any) -> Any:
        began = time.perf_counter()
        out = inner(prompts)
        seconds.append(time.perf_counter() - began)
        return out

    trainer._generate = timed
    trainer._generate_and_score_completions(rows)
    return seconds[0]


def main(model: Path) -> None:
    """Prints the comparison."""
    found = compare(model)
    table = Table("loop", "seconds", "searches", title="24 rollouts, 3 searches of 200 ms each")
    table.add_row("TRL 1.16, GRPOTrainer", f"{found.trl:.2f}", str(found.searches[0]))
    table.add_row("trainers.rl", f"{found.ours:.2f}", str(found.searches[1]))
    Console().print(table)
    Console().print(f"{found.trl / found.ours:.1f} times as fast")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
