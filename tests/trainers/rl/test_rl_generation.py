from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from PIL import Image

from agents.checkpoint import Loaded
from agents.sampling import Sampler
from tests.trainers.rl.scripted import started
from trainers.rl.generation import InProcess, Vllm
from trainers.rl.trace import Trace, Turn
from wildenv.errors import ConfigError


def prompts(nano: Loaded, count: int, pictures: int = 0) -> list[Trace]:
    traces = []
    for session in started(count):
        for _ in range(pictures):
            session.say({"name": "image_search", "arguments": {"query": "press picture"}})
        trace = Trace(session, 0)
        messages = session.episode.messages
        piece = nano.encoder.encode(messages, session.tools, session.store, add_generation_prompt=True)
        trace.hear(piece, [block["digest"] for m in messages for block in m["content"] if block["type"] == "image"])
        traces.append(trace)
    return traces


def draw(nano: Loaded, traces: Sequence[Trace], seeds: Sequence[int], **changed: Any) -> list[Turn]:
    generate = InProcess(nano.encoder, **{"max_new_tokens": 12, "temperature": 1.0} | changed)
    generate.model = nano.model
    return generate(traces, seeds)


def test_what_a_row_draws_depends_on_its_seed_and_not_on_its_neighbours(nano: Loaded) -> None:
    traces = prompts(nano, 3, pictures=1)
    together = draw(nano, traces, [1, 2, 3])
    assert draw(nano, traces, [1, 2, 3]) == together
    alone = draw(nano, traces[1:2], [2])[0]
    assert alone.ids == together[1].ids
    assert alone.log_probs == pytest.approx(together[1].log_probs, abs=1e-4)
    in_small_batches = draw(nano, traces, [1, 2, 3], max_batch_tokens=1)
    assert [turn.ids for turn in in_small_batches] == [turn.ids for turn in together]
    assert draw(nano, traces, [4, 5, 6])[1].ids != alone.ids


def test_log_probabilities_are_those_of_the_model(nano: Loaded) -> None:
    [trace] = prompts(nano, 1, pictures=1)
    [turn] = draw(nano, [trace], [5], temperature=0.7)
    prompt = trace.prompted()
    ids = torch.tensor([prompt.input_ids + turn.ids])
    with torch.no_grad():
        logits = nano.model(
            input_ids=ids,
            mm_token_type_ids=torch.tensor([prompt.mm_token_type_ids + [0] * len(turn.ids)]),
            pixel_values=prompt.pixel_values,
            image_grid_thw=prompt.image_grid_thw,
        ).logits[0, len(prompt) - 1 : -1]
    expected = (logits / 0.7).log_softmax(-1).gather(1, torch.tensor(turn.ids)[:, None])[:, 0]
    assert turn.log_probs == pytest.approx(expected.tolist(), abs=1e-4)


def test_a_sampler_draws_from_the_softmax_and_only_what_it_may() -> None:
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0]]).repeat(4000, 1)
    for arguments, allowed in (({}, [0, 1, 2, 3]), ({"top_p": 0.8}, [0, 1]), ({"banned": [0]}, [1, 2, 3])):
        sampler = Sampler(range(4000), 1.0, **arguments)
        drawn = sampler(torch.empty(4000, 0), logits).argmax(-1)
        shares = torch.bincount(drawn, minlength=4) / 4000
        expected = logits[0].softmax(-1)
        expected = expected.where(torch.isin(torch.arange(4), torch.tensor(allowed)), torch.zeros(4))
        assert shares.tolist() == pytest.approx((expected / expected.sum()).tolist(), abs=0.03)
        assert sampler.log_probs[0].tolist() == pytest.approx(logits[0].log_softmax(-1)[drawn].tolist())


def test_numbers_out_of_range_are_refused(nano: Loaded) -> None:
    for name, value in (("temperature", 0.0), ("top_p", 0.0), ("top_p", 1.5)):
        with pytest.raises(ConfigError, match=f"rollout.{name}"):
            InProcess(nano.encoder, **{"max_new_tokens": 4, "temperature": 1.0} | {name: value})


class Server:
    """Answers as TRL's vLLM server mode does: it deals out rows by counting, the same number to each rank."""

    def __init__(self) -> None:
        self.prompts: list[list[int]] = []
        self.images: list[list[Image.Image] | None] | None = None

    def generate(self, prompts: list[list[int]], images: Any, num_generations: int) -> tuple[Any, ...]:
        assert num_generations == 1
        self.prompts, self.images = prompts, images
        return prompts, [[7, 8]] * len(prompts), [[[-0.1], [None]]] * len(prompts), None


def test_a_rank_with_fewer_prompts_sends_stand_ins_and_drops_their_turns(nano: Loaded) -> None:
    traces = prompts(nano, 2, pictures=1)
    server = Server()
    turns = Vllm(server, lambda mine: [mine, 5], nano.encoder)(traces, [0, 0])
    assert [len(prompt) for prompt in server.prompts] == [len(traces[0]), len(traces[1]), 1, 1, 1]
    assert [turn.ids for turn in turns] == [[7, 8], [7, 8]]
    assert turns[0].log_probs[0] == -0.1
    assert math.isnan(turns[0].log_probs[1])
    assert server.images is not None
    assert [len(shown or []) for shown in server.images] == [len(trace.pictures) for trace in traces] + [0, 0, 0]
    places = traces[0].types.count(1)
    assert places, "the ids have a place for each patch of each picture"


def test_a_rank_without_prompts_takes_part(nano: Loaded) -> None:
    server = Server()
    assert Vllm(server, lambda mine: [mine, 2], nano.encoder)([], []) == []
    assert (server.prompts, server.images) == ([[nano.encoder.tokenizer.eos_token_id]] * 2, None)


def test_a_place_of_a_picture_is_never_drawn(nano: Loaded) -> None:
    places = nano.encoder.placeholders
    assert nano.encoder.image_token_id in places
    assert len(places) == 2

    def prefer(module: torch.nn.Module, given: Any, logits: torch.Tensor) -> torch.Tensor:
        return logits.index_add(-1, torch.tensor(places), torch.full((*logits.shape[:-1], 2), 100.0))

    hook = nano.model.get_output_embeddings().register_forward_hook(prefer)
    [trace] = prompts(nano, 1)
    [turn] = draw(nano, [trace], [3])
    hook.remove()
    assert turn.ids
    assert not set(turn.ids) & set(places)


def test_a_turn_of_a_server_is_cut_before_the_place_of_a_picture(nano: Loaded) -> None:
    class Draws(Server):
        def generate(self, prompts: list[list[int]], images: Any, num_generations: int) -> tuple[Any, ...]:
            ids = [7, 8, nano.encoder.image_token_id, 9]
            return prompts, [ids] * len(prompts), [[[-0.1]] * 4] * len(prompts), None

    traces = prompts(nano, 1)
    [turn] = Vllm(Draws(), lambda mine: [mine], nano.encoder)(traces, [0])
    assert (turn.ids, turn.log_probs) == ([7, 8], [-0.1, -0.1])
