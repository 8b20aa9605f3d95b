"""Where turns are drawn: by transformers in this process, or by vLLM through TRL.

Both draw from the weights that are being trained. `InProcess` gives each rollout its own seed; vLLM's draws depend on its own
state and are not repeatable. Not tried here for want of a GPU: vLLM itself; what is handed to it and taken from it is tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from PIL import Image
from transformers import LogitsProcessorList, PreTrainedModel

from agents.batching import pad_left
from agents.encode import Encoded, TrajectoryEncoder
from agents.sampling import Sampler
from trainers.rl.trace import Trace, Turn
from wildenv.errors import ConfigError


class InProcess:
    """Draws with a transformers model, in batches of bounded size.

    Args:
        encoder: Of the model.
        max_new_tokens: Where a turn that does not end is cut.
        temperature: Above 0: rollouts that are all alike teach nothing.
        top_p: As in `agents.sampling.Sampler`.
        max_batch_tokens: Prompt tokens of a batch, padding included.

    Attributes:
        model: Set by the trainer for the time of a roll, with its weights gathered.

    Raises:
        ConfigError: If a number is out of range.
    """

    def __init__(
        self,
        encoder: TrajectoryEncoder,
        max_new_tokens: int,
        temperature: float,
        top_p: float = 1.0,
        max_batch_tokens: int = 64_000,
    ) -> None:
        if not temperature > 0:
            raise ConfigError(f"rollout.temperature={temperature} must be above 0: a group of equal rollouts teaches nothing")
        if not 0 < top_p <= 1:
            raise ConfigError(f"rollout.top_p={top_p} must be above 0 and at most 1")
        self.model: PreTrainedModel | None = None
        self._encoder = encoder
        self._max_new_tokens = max_new_tokens
        self._temperature = temperature
        self._top_p = top_p
        self._max_batch_tokens = max_batch_tokens

    def __call__(self, traces: Sequence[Trace], seeds: Sequence[int]) -> list[Turn]:
        """Draws a turn for each rollout."""
        turns: dict[int, Turn] = {}
        # The longest first, so that a batch pads little.
        left = sorted(range(len(traces)), key=lambda row: -len(traces[row]))
        while left:
            count = max(1, min(len(left), self._max_batch_tokens // len(traces[left[0]])))
            rows, left = left[:count], left[count:]
            # Pictures are put together for one batch at a time: those of all rollouts may not fit.
            prompts = [traces[row].prompted() for row in rows]
            turns |= zip(rows, self._batch(prompts, [seeds[row] for row in rows]), strict=True)
        return [turns[row] for row in range(len(traces))]

    @torch.no_grad()
    def _batch(self, prompts: Sequence[Encoded], seeds: Sequence[int]) -> list[Turn]:
        assert self.model is not None
        tokenizer = self._encoder.tokenizer
        end = tokenizer.eos_token_id
        pad = end if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        inputs = pad_left(list(prompts), pad)
        width = inputs["input_ids"].shape[1]
        sampler = Sampler(seeds, self._temperature, self._top_p, self._encoder.placeholders)
        out = self.model.generate(
            **{name: tensor.to(self.model.device) for name, tensor in inputs.items()},
            do_sample=False,
            max_new_tokens=self._max_new_tokens,
            eos_token_id=end,
            pad_token_id=pad,
            logits_processor=LogitsProcessorList([sampler]),
            # Under ZeRO-3 the weights are gathered for the whole roll: ranks need not, and do not, draw in step.
            synced_gpus=False,
        )
        log_probs = torch.stack(sampler.log_probs, 1).tolist()
        turns = []
        for row, known in zip(out[:, width:].tolist(), log_probs, strict=True):
            ids = row[: row.index(end) + 1] if end in row else row
            turns.append(Turn(ids, known[: len(ids)]))
        return turns


class Vllm:
    """Draws with TRL's vLLM backend, colocated or a server.

    All ranks join each call with the same number of prompts, because a server's answers are dealt out by counting: a rank with
    fewer adds stand-ins and throws their turns away.

    Args:
        backend: TRL's `VLLMGeneration`.
        counts: Returns the number of prompts of each rank, given this one's.
        encoder: Of the model.
    """

    def __init__(self, backend: Any, counts: Callable[[int], list[int]], encoder: TrajectoryEncoder) -> None:
        self._backend = backend
        self._counts = counts
        # What a rank without prompts asks for.
        self._spare = [encoder.tokenizer.eos_token_id]
        self._placeholders = set(encoder.placeholders)

    def __call__(self, traces: Sequence[Trace], seeds: Sequence[int]) -> list[Turn]:
        """Draws a turn for each rollout."""
        ids = [list(trace.ids) for trace in traces]
        pictures: list[list[Image.Image] | None] = [
            [trace.session.store.get(digest) for digest in trace.pictures] or None for trace in traces
        ]
        missing = max(self._counts(len(ids))) - len(ids)
        ids += [self._spare] * missing
        pictures += [None] * missing
        images = pictures if any(pictures) else None
        _, drawn, log_probs, _ = self._backend.generate(prompts=ids, images=images, num_generations=1)
        turns = [self._turn(list(row), known) for row, known in zip(drawn, log_probs, strict=True)]
        return turns[: len(traces)]

    def _turn(self, ids: list[int], known: Sequence[Sequence[float | None]]) -> Turn:
        # vLLM may draw the place of a picture that there is not: the turn is cut before it.
        end = next((place for place, one in enumerate(ids) if one in self._placeholders), len(ids))
        return Turn(ids[:end], [math.nan if one[0] is None else one[0] for one in known[:end]])
