"""TRL's GRPOTrainer, rolling in environments that are stepped at once and training on what was seen, pictures included.

What is TRL's stays TRL's: drawing of tasks, advantage, clipping, KL, loss, optimiser, checkpoints, vLLM and its weights. Changed
are how rollouts are played (`trainers.rl.rollout`), which of them enter a group (`trainers.rl.groups`), which of those give a
gradient (truncated and repeated ones may be masked), that the run stops where pictures and their places in the chat disagree (TRL
trains on without any picture), and that a rank without pictures runs the vision tower all the same where ZeRO-3 needs it to
(`trainers.rl.forward`).
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from trl import GRPOTrainer
from trl.models import unwrap_model_for_generation

from agents.encode import TrajectoryEncoder
from trainers.restore import RestoredWeights
from trainers.rl.forward import PictureForward
from trainers.rl.generation import InProcess, Vllm
from trainers.rl.groups import Groups, mask_groups
from trainers.rl.measures import lengths, measures, tally
from trainers.rl.rollout import Generate, Limits, Roller
from trainers.rl.seeds import draw_seed
from trainers.rl.trace import Trace
from wildenv.adapters.trl import RewardFunction, WildTools, session_of
from wildenv.errors import DataError, InfrastructureError
from wildenv.messages import text_of, to_hermes

# That TRL's environments may change is known here: its version is pinned.
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

Watch = Callable[[int, Sequence[Trace], Sequence[dict[str, Any]]], None]
"""Is told of each batch on the main process: the update it is for, its rollouts, and what else is known of each."""


@dataclass(frozen=True, slots=True)
class Masks:
    """What gives no gradient.

    Attributes:
        truncated: Rollouts that ended for want of room.
        repeated: Rollouts that said the same turn twice in a row.
        min_valid: Fewest scored rollouts of a group that is not skipped.
        give_up: Batches in a row without a single scored rollout after which the run ends.
    """

    truncated: bool = True
    repeated: bool = True
    min_valid: int = 2
    give_up: int = 3


class RolloutTrainer(RestoredWeights, PictureForward, GRPOTrainer):
    """Trains on rollouts of `wildenv.adapters.trl.WildTools`.

    Args:
        encoder: Of the model.
        generate: Draws turns, an `InProcess` for one; None takes the vLLM backend that ``args.use_vllm`` makes.
        limits: How far a rollout may go.
        rewards: Of `wildenv.adapters.trl.reward_functions`; their weights are ``args.reward_weights``.
        masks: What gives no gradient.
        dummy_image: See `trainers.rl.forward`.
        **kwargs: Of `GRPOTrainer`; ``environment_factory`` makes `WildTools`.

    Attributes:
        watch: Is told of each batch; None until somebody wants to know.
    """

    def __init__(
        self,
        *,
        encoder: TrajectoryEncoder,
        generate: Generate | None,
        limits: Limits,
        rewards: Sequence[RewardFunction],
        masks: Masks | None = None,
        dummy_image: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(reward_funcs=[one.function for one in rewards], **kwargs)
        self.encoder = encoder
        self.dummy_image = dummy_image
        self._masks = masks or Masks()
        self.watch: Watch | None = None
        self._draws: Generate = generate or Vllm(self.vllm_generation, self._counts, encoder)
        self._unscored_batches = 0
        self._traces: list[Trace] = []
        self._rewards = torch.empty(0)
        self._groups: Groups | None = None
        # Each rank draws at its own pace, unless all must join a call of vLLM.
        any_rank = (lambda playing: any(self._counts(int(playing)))) if isinstance(self._draws, Vllm) else bool
        self._roller = Roller(encoder, self._draws, limits, any_rank)
        logging.getLogger("trl.trainer.grpo_trainer").addFilter(_not_about_abstaining)

    def _generate(self, prompts: list[Any]) -> tuple[Any, ...]:
        """Plays the environments that TRL has reset, in place of its own loop; returns what that returns."""
        mode = "train" if self.model.training else "eval"
        environments: list[WildTools] = self.environments
        sessions = [session_of(environment) for environment in environments]
        first = self.accelerator.process_index * len(sessions)
        seeds = [draw_seed(self.args.seed, self.state.global_step, first + number) for number in range(len(sessions))]
        for session, seed in zip(sessions, seeds, strict=True):
            session.episode.seed = seed
        began = time.perf_counter()
        with self._drawing():
            traces = self._traces = self._roller.play(sessions, seeds)
        spent = [time.perf_counter() - began, max(trace.seconds for trace in traces)]
        ranks = self.accelerator.gather(torch.tensor([spent], device=self.accelerator.device))
        # All ranks wait for the slowest.
        self._metrics[mode]["rollout/seconds"].append(ranks[:, 0].max().item())
        self._metrics[mode]["rollout/seconds_of_fastest_rank"].append(ranks[:, 0].min().item())
        self._metrics[mode]["rollout/tool_seconds"].append(ranks[:, 1].max().item())
        pictures = [[trace.session.store.get(digest) for digest in trace.pictures] for trace in traces]
        for trace in traces:
            self._check_places(trace)
        self._count(mode, traces)
        return (
            [trace.ids[: trace.prompt] for trace in traces],
            [trace.ids[trace.prompt :] for trace in traces],
            [[int(drawn) for drawn in trace.drawn[trace.prompt :]] for trace in traces],
            [_completion(trace) for trace in traces],
            [trace.log_probs[trace.prompt :] for trace in traces],
            {},
            [shown or None for shown in pictures] if any(pictures) else None,
            pictures,
        )

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        """Makes the model ready to draw, for all turns of a roll at once: under ZeRO-3 ranks that need different numbers of turns
        must gather and release the weights together."""
        draws = self._draws
        if isinstance(draws, Vllm) and self.state.global_step != self._last_loaded_step:
            self.vllm_generation.sync_weights()
            self._last_loaded_step = self.state.global_step
        if not isinstance(draws, InProcess):
            yield
            return
        training = self.model.training
        with unwrap_model_for_generation(
            self.model_wrapped,
            self.accelerator,
            gather_deepspeed3_params=self.args.ds3_gather_for_generation,
            gradient_checkpointing_kwargs=self.args.gradient_checkpointing_kwargs,
        ) as model:
            model.eval()
            draws.model = model
            try:
                yield
            finally:
                draws.model = None
                model.train(training)

    def _check_places(self, trace: Trace) -> None:
        places = trace.ids.count(self.encoder.image_token_id)
        merge = self.encoder.image_processor.merge_size**2 if self.encoder.vision else 1
        patches = sum(int(grid.prod(-1).sum()) for _, grid in trace.pixels) // merge
        if places != patches:
            raise DataError(
                f"the rollout of {trace.session.episode.task_id} has {places} places for pictures and {patches} picture tokens; "
                "see model.pixels and model.chat_template"
            )

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> Tensor:
        """Returns the rewards of all ranks, NaN where a rollout must not enter its group."""
        mode = "train" if self.model.training else "eval"
        rewards: Tensor = super()._calculate_rewards(*args, **kwargs)
        size = self.num_generations if mode == "train" else self.num_generations_eval
        self._rewards, groups = rewards, mask_groups(rewards, size, self._masks.min_valid)
        self._groups = groups
        self._metrics[mode]["groups/skipped"].append(groups.skipped / (len(rewards) // size))
        self._metrics[mode]["rollouts/unscored"].append(1 - groups.scored.float().mean().item())
        self._unscored_batches = 0 if bool(groups.scored.any()) else self._unscored_batches + 1
        if self._unscored_batches >= self._masks.give_up:
            reasons = [trace.session.episode.failure for trace in self._traces if trace.session.episode.failure]
            raise InfrastructureError(
                f"no rollout of the last {self._unscored_batches} batches could be scored; "
                f"the last failure: {reasons[-1] if reasons else 'on another rank'}"
            )
        return groups.rewards

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """Takes the gradient from what is masked, once TRL has computed the advantages."""
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        groups = self._groups
        assert groups is not None
        if any(trace.pictures for trace in self._traces) and "pixel_values" not in output:
            raise DataError("TRL has dropped the pictures of a batch; the ids of its rollouts do not match their pictures")
        first = self.accelerator.process_index * len(self._traces)
        kept = groups.kept[first : first + len(self._traces)].tolist()
        learns = [
            keep and not (self._masks.truncated and trace.truncated) and not (self._masks.repeated and trace.repeated)
            for keep, trace in zip(kept, self._traces, strict=True)
        ]
        mask = torch.tensor(learns, device=output["tool_mask"].device, dtype=output["tool_mask"].dtype)
        output["tool_mask"] = output["tool_mask"] * mask[:, None]
        tokens = (output["completion_mask"] * output["tool_mask"]).sum()
        output["num_items_in_batch"] = self.accelerator.gather(tokens).sum()
        mode = "train" if self.model.training else "eval"
        share = self.accelerator.gather(mask.float().mean()).mean().item()
        self._metrics[mode]["rollouts/learnt_from"].append(share)
        if self.watch is not None and self.accelerator.is_main_process:
            self.watch(self.state.global_step + 1, self._traces, self._known(first, kept, output["advantages"].tolist()))
        return output

    def _known(self, first: int, kept: Sequence[bool], advantages: Sequence[float]) -> list[dict[str, Any]]:
        """Returns what is known of each rollout of this rank besides its episode."""
        rewards = self._rewards[first : first + len(self._traces)].tolist()
        rows = zip(self._traces, kept, advantages, rewards, strict=True)
        return [
            {
                "group": str((first + number) // self.num_generations),
                "advantage": advantage,
                "valid": keep,
                "truncated": trace.truncated,
                "repeated": trace.repeated,
                **dict(zip(self.reward_func_names, scores, strict=True)),
            }
            for number, (trace, keep, advantage, scores) in enumerate(rows)
        ]

    def _count(self, mode: str, traces: Sequence[Trace]) -> None:
        """Logs what TRL logs of its own loop, and what it does not."""
        gather, device = self.accelerator.gather, self.accelerator.device
        prompts = gather(torch.tensor([trace.prompt for trace in traces], device=device)).sum().item()
        mean, least, most = lengths([sum(trace.drawn) for trace in traces], gather, device)
        total = gather(torch.tensor([len(trace) - trace.prompt for trace in traces], device=device)).sum().item()
        counted = self._metrics[mode]
        if mode == "train":
            self.state.num_input_tokens_seen += int(prompts + total)
        counted["num_tokens"] = [self.state.num_input_tokens_seen]
        counted["completions/mean_length"].append(mean)
        counted["completions/min_length"].append(least)
        counted["completions/max_length"].append(most)
        for name, value in measures(self.accelerator.reduce(tally(traces).float().to(device), "sum").cpu()).items():
            counted[name].append(value)

    def _counts(self, mine: int) -> list[int]:
        return self.accelerator.gather(torch.tensor([mine], device=self.accelerator.device)).tolist()


def _completion(trace: Trace) -> list[dict[str, Any]]:
    """Returns what TRL logs of a rollout: its turns and replies as text."""
    said = trace.session.episode.messages[2:]
    texts = [to_hermes(one) if one["role"] == "assistant" else text_of(one) for one in said]
    return [{"role": one["role"], "content": text} for one, text in zip(said, texts, strict=True)]


def _not_about_abstaining(record: logging.LogRecord) -> bool:
    """Drops TRL's warning about abstaining rewards, which quotes whole rollouts; they are counted as rollouts/unscored."""
    return "All reward functions returned None" not in record.getMessage()
