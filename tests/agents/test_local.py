"""The local policy rebuilds the environment's chat from observations; batching changes no answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from agents import checkpoint
from agents.batching import BatchedGenerator, pad_left
from agents.checkpoint import Loaded
from agents.encode import Encoded
from agents.local import LocalPolicy
from tests.fakes import make_env
from wildenv.errors import ConfigError, UsageError
from wildenv.images import ImageStore
from wildenv.messages import Message
from wildenv.policy import Observation, Policy
from wildenv.rollout import play


def prompts(nano: Loaded, chat: list[Message], tools: list[dict[str, Any]], store: ImageStore) -> list[Encoded]:
    """With and without pictures, of three lengths."""
    return [nano.encoder.encode(chat[:length], tools, store, add_generation_prompt=True) for length in (2, 4, 4, 1)]


def run_all(generator: BatchedGenerator, encoded: list[Encoded], seeds: list[int]) -> list[list[int]]:
    async def main() -> list[list[int]]:
        return await asyncio.gather(*(generator.generate(e, s) for e, s in zip(encoded, seeds, strict=True)))

    return asyncio.run(main())


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_batch_gives_what_single_requests_give(
    nano: Loaded, chat: list[Message], tools: list[dict[str, Any]], store: ImageStore, temperature: float
) -> None:
    encoded = prompts(nano, chat, tools, store)
    together = BatchedGenerator(nano, max_new_tokens=12, temperature=temperature)
    alone = BatchedGenerator(nano, max_new_tokens=12, temperature=temperature, max_batch=1)
    outputs = run_all(together, encoded, [1, 2, 3, 4])
    assert outputs == run_all(alone, encoded, [1, 2, 3, 4])
    assert (together.batches, alone.batches) == (1, 4)
    assert together.generated == sum(map(len, outputs))
    if temperature:
        assert outputs[1] != outputs[2], "same prompt, other seed"
    else:
        assert outputs[1] == outputs[2]


def test_sampling_follows_the_softmax(nano: Loaded) -> None:
    generator = BatchedGenerator(nano, max_new_tokens=1, temperature=2.0, max_batch=512)
    prompt = Encoded([5, 6, 7], [0, 0, 0], [0, 0, 0])
    drawn = [ids[0] for ids in run_all(generator, [prompt] * 512, list(range(512)))]
    with torch.inference_mode():
        p = torch.softmax(nano.model(torch.tensor([[5, 6, 7]])).logits[0, -1] / 2.0, 0)
    expected, got = p.topk(50).values.sum().item(), sum(token in p.topk(50).indices.tolist() for token in drawn) / 512
    assert got == pytest.approx(expected, abs=0.08)
    assert len(set(drawn)) > 50


def test_a_batch_is_bounded_in_tokens(nano: Loaded) -> None:
    generator = BatchedGenerator(nano, max_new_tokens=1, max_batch_tokens=25)
    long, short = Encoded([7] * 20, [0] * 20, [0] * 20), Encoded([7] * 5, [0] * 5, [0] * 5)
    assert len(run_all(generator, [long, short, short, short], [0] * 4)) == 4
    assert generator.batches == 2


def test_it_stops_at_the_end_of_a_turn(nano_folder: Path) -> None:
    loaded = checkpoint.load(nano_folder)
    prompt = Encoded([7, 8], [0, 0], [0, 0])
    first = run_all(BatchedGenerator(loaded, max_new_tokens=9), [prompt], [0])[0]
    assert len(first) == 9
    loaded.tokenizer.eos_token = loaded.tokenizer.convert_ids_to_tokens(first[3])
    stopped = run_all(BatchedGenerator(loaded, max_new_tokens=9), [prompt], [0])[0]
    assert stopped == first[: first.index(first[3]) + 1]


def test_a_failure_reaches_every_waiting_policy(nano: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = BatchedGenerator(nano)

    def broken(**_: Any) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(nano.model, "generate", broken)
    prompt = Encoded([7], [0], [0])

    async def main() -> list[Any]:
        return await asyncio.gather(generator.generate(prompt), generator.generate(prompt), return_exceptions=True)

    assert [str(error) for error in asyncio.run(main())] == ["out of memory"] * 2


def test_a_cancelled_request_costs_the_others_nothing(nano: Loaded) -> None:
    generator = BatchedGenerator(nano, max_new_tokens=2, linger_s=0.2)
    prompt = Encoded([7], [0], [0])

    async def main() -> list[int]:
        late = asyncio.create_task(generator.generate(prompt))
        kept = asyncio.create_task(generator.generate(prompt))
        await asyncio.sleep(0.01)
        late.cancel()
        return await kept

    assert len(asyncio.run(main())) == 2
    assert generator.generated == 2


def test_it_serves_one_loop_after_another(nano: Loaded) -> None:
    generator = BatchedGenerator(nano, max_new_tokens=2)
    prompt = Encoded([7], [0], [0])
    assert run_all(generator, [prompt], [0]) == run_all(generator, [prompt], [0])


def test_padding_is_on_the_left(nano: Loaded, chat: list[Message], store: ImageStore) -> None:
    seen, unseen = nano.encoder.encode(chat, [], store), Encoded([9], [0], [0])
    batch = pad_left([unseen, seen], pad=3)
    width = len(seen)
    assert batch["input_ids"][0].tolist() == [3] * (width - 1) + [9]
    assert batch["attention_mask"][0].tolist() == [0] * (width - 1) + [1]
    assert batch["mm_token_type_ids"].sum() == 24
    assert "pixel_values" not in pad_left([unseen], pad=3)


class Scripted(BatchedGenerator):
    """Writes what the test says, and keeps the prompts."""

    def __init__(self, loaded: Loaded, says: list[str]) -> None:
        super().__init__(loaded)
        self.says = says
        self.prompts: list[Encoded] = []
        self.seeds: list[int] = []

    async def generate(self, encoded: Encoded, seed: int = 0) -> list[int]:
        self.prompts.append(encoded)
        self.seeds.append(seed)
        text = self.says[len(self.prompts) - 1]
        return [*self.loaded.tokenizer.encode(text, add_special_tokens=False), self.loaded.tokenizer.eos_token_id]


def observation(text: str) -> Observation:
    return {"text": text, "images": (), "calls_left": 8}


def say(text: str, name: str, **arguments: Any) -> str:
    return f"{text}\n<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def test_its_prompts_are_prefixes_of_the_recorded_episode(nano: Loaded) -> None:
    """What a trainer encodes from the record is, token for token and pixel for pixel, what the policy was prompted with."""
    said = [
        say("Look.", "text_search", queries=["lantern", "trim <|im_end|>"]),
        say("Read.", "web_fetch", url="https://lantern.example/launch", prompt="trim"),
        "I forgot the call.",
        say("See.", "image_search", query="teal lantern"),
        say("Cut.", "crop_image", image_id="IMG_002", box=[0, 0, 500, 900]),
        say("Cut.", "crop_image", image_id="IMG_099", box=[0, 0, 500, 900]),
        say("Teal: IMG_001.", "answer", prompt="A teal lantern.", references=["IMG_001"]),
    ]
    generator = Scripted(nano, said)
    policy = LocalPolicy(generator, "Find pictures.")
    assert isinstance(policy, Policy)
    env = make_env()
    episode = asyncio.run(play(env, policy, "task-1", seed=5))
    assert (episode.end_reason, episode.reward) == ("answered", 1.0)
    assert policy.messages[0] == episode.messages[0]
    whole = nano.encoder.encode(episode.messages, episode.tools, env.store)
    assert len(generator.prompts) == len(said)
    for prompt in generator.prompts:
        assert whole.input_ids[: len(prompt)] == prompt.input_ids
    last = generator.prompts[-1].pixel_values
    assert last is not None
    assert whole.pixel_values is not None
    assert torch.equal(whole.pixel_values, last)
    assert len(set(generator.seeds)) == len(said)


def test_a_new_episode_forgets_the_last_one(nano: Loaded, tools: list[dict[str, Any]]) -> None:
    generator = Scripted(nano, ["no call", "no call"])
    policy = LocalPolicy(generator, "Find pictures.")
    for _ in range(2):
        policy.reset("A lantern.", tools)
        asyncio.run(policy.act(observation("A lantern.")))
    assert generator.prompts[0].input_ids == generator.prompts[1].input_ids


def test_misuse_is_named(nano: Loaded, tools: list[dict[str, Any]]) -> None:
    policy = LocalPolicy(Scripted(nano, []), "Find pictures.", max_prompt_tokens=5)
    with pytest.raises(UsageError, match="reset"):
        asyncio.run(policy.act(observation("A lantern.")))
    policy.reset("A lantern.", tools)
    with pytest.raises(ConfigError, match=r"agent\.max_prompt_tokens=5"):
        asyncio.run(policy.act(observation("A lantern.")))
    for setting, value in (("max_new_tokens", 0), ("max_batch", 0), ("temperature", -1.0)):
        with pytest.raises(ConfigError, match=rf"agent\.generator\.{setting}"):
            BatchedGenerator(nano, **{setting: value})
