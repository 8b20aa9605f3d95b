"""Generates for many episodes at once: concurrent requests are collected and decoded in one padded batch.

Any thread or event loop may ask. A worker thread runs only while there are requests. What a request gets depends on its own seed
and not on its neighbours, up to the rounding of a different batch shape: two candidates that tie to the last digit may swap.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass

import torch
from transformers import LogitsProcessorList

from agents.checkpoint import Loaded
from agents.encode import Encoded
from agents.sampling import Sampler
from wildenv.errors import ConfigError


@dataclass(frozen=True, slots=True)
class _Request:
    encoded: Encoded
    seed: int
    future: Future[list[int]]


class BatchedGenerator:
    """One model, shared by any number of policies.

    Args:
        loaded: The model.
        max_new_tokens: Where a turn that does not end by itself is cut.
        temperature: 0 takes the most likely token; above, tokens are drawn with the request's seed.
        max_batch: Requests decoded together.
        max_batch_tokens: Prompt tokens of a batch, padding included; bounds memory.
        linger_s: A batch that is not full waits for more requests until none has come for this long.

    Raises:
        ConfigError: If a number is out of range.
    """

    def __init__(
        self,
        loaded: Loaded,
        max_new_tokens: int = 256,
        temperature: float = 0.0,
        max_batch: int = 16,
        max_batch_tokens: int = 64_000,
        linger_s: float = 0.05,
    ) -> None:
        for name, value in (("max_new_tokens", max_new_tokens), ("max_batch", max_batch), ("max_batch_tokens", max_batch_tokens)):
            if value < 1:
                raise ConfigError(f"agent.generator.{name}={value} must be at least 1")
        if temperature < 0:
            raise ConfigError(f"agent.generator.temperature={temperature} must not be negative")
        self.loaded = loaded
        self.max_new_tokens = max_new_tokens
        self.temperature = temperature
        self.max_batch = max_batch
        self.max_batch_tokens = max_batch_tokens
        self.linger_s = linger_s
        self.batches = 0
        self.generated = 0
        self._waiting: list[_Request] = []
        self._lock = threading.Lock()
        self._running = False

    async def generate(self, encoded: Encoded, seed: int = 0) -> list[int]:
        """Returns the new ids of one prompt, up to and with the end-of-turn token if it was reached.

        Args:
            encoded: A prompt that ends with the opening of an assistant turn.
            seed: For sampling.
        """
        future: Future[list[int]] = Future()
        with self._lock:
            self._waiting.append(_Request(encoded, seed, future))
            if not self._running:
                self._running = True
                threading.Thread(target=self._work, name="generate", daemon=True).start()
        return await asyncio.wrap_future(future)

    def _work(self) -> None:
        while True:
            self._gather()
            with self._lock:
                batch = self._take()
                if not batch:
                    self._running = False
                    return
            # A request whose episode ran out of time is cancelled and needs no answer.
            batch = [request for request in batch if request.future.set_running_or_notify_cancel()]
            if not batch:
                continue
            try:
                outputs = self._run(batch)
            except Exception as error:  # noqa: BLE001 - handed on to every waiting policy
                for request in batch:
                    request.future.set_exception(error)
            else:
                for request, ids in zip(batch, outputs, strict=True):
                    request.future.set_result(ids)

    def _gather(self) -> None:
        """Waits until a batch is full or no request has come for a while, so that groups of episodes fall into step."""
        before = -1
        while before < len(self._waiting) < self.max_batch:
            before = len(self._waiting)
            time.sleep(self.linger_s)

    def _take(self) -> list[_Request]:
        """Removes the next batch from the queue: the longest prompts first, so that a batch pads little."""
        order = sorted(self._waiting, key=lambda request: -len(request.encoded))
        count = 0
        while count < min(len(order), self.max_batch):
            if count and (count + 1) * len(order[0].encoded) > self.max_batch_tokens:
                break
            count += 1
        batch = order[:count]
        self._waiting = order[count:]
        return batch

    @torch.inference_mode()
    def _run(self, batch: list[_Request]) -> list[list[int]]:
        model, tokenizer = self.loaded.model, self.loaded.tokenizer
        end, pad = tokenizer.eos_token_id, model.generation_config.pad_token_id
        inputs = pad_left([request.encoded for request in batch], pad)
        width = inputs["input_ids"].shape[1]
        processors = LogitsProcessorList()
        if self.temperature > 0:
            processors.append(Sampler([request.seed for request in batch], self.temperature))
        out = model.generate(
            **{name: tensor.to(model.device) for name, tensor in inputs.items()},
            do_sample=False,
            max_new_tokens=self.max_new_tokens,
            eos_token_id=end,
            pad_token_id=pad,
            logits_processor=processors,
        )
        self.batches += 1
        outputs = []
        for row in out[:, width:].tolist():
            ids = row[: row.index(end) + 1] if end in row else row
            self.generated += len(ids)
            outputs.append(ids)
        return outputs


def pad_left(prompts: list[Encoded], pad: int) -> dict[str, torch.Tensor]:
    """Returns the model inputs of a batch of prompts, padded on the left.

    Args:
        prompts: Encoded chats.
        pad: The padding token.

    Returns:
        ``input_ids`` and ``attention_mask`` (prompts x width, int64); with pictures also ``mm_token_type_ids`` (prompts x width),
        ``pixel_values`` and ``image_grid_thw`` of all prompts in order.
    """
    width = max(map(len, prompts))
    lacks = [width - len(prompt) for prompt in prompts]
    inputs = {
        "input_ids": torch.tensor([[pad] * lack + prompt.input_ids for prompt, lack in zip(prompts, lacks, strict=True)]),
        "attention_mask": torch.tensor([[0] * lack + [1] * (width - lack) for lack in lacks]),
    }
    pixels = [prompt.pixel_values for prompt in prompts if prompt.pixel_values is not None]
    grids = [prompt.image_grid_thw for prompt in prompts if prompt.image_grid_thw is not None]
    if pixels:
        types = [[0] * lack + prompt.mm_token_type_ids for prompt, lack in zip(prompts, lacks, strict=True)]
        inputs["mm_token_type_ids"] = torch.tensor(types)
        inputs["pixel_values"] = torch.cat(pixels)
        inputs["image_grid_thw"] = torch.cat(grids)
    return inputs
