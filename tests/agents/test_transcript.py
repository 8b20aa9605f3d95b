"""One message path: the environment's record, a policy's chat and the trainers' collator agree to the token."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from agents.batching import BatchedGenerator
from agents.chat import ChatPolicy
from agents.checkpoint import Loaded
from agents.encode import Encoded
from agents.lci.policy import LciPolicy
from agents.local import LocalPolicy
from agents.transcript import Transcript
from tests.agents.fake_chat import FakeChat, hermes, reply
from tests.fakes import make_env
from trainers.collate import TrajectoryCollator
from trainers.data import Row, RowFolder, RowWriter
from wildenv.env import WildEnv
from wildenv.episode import Episode
from wildenv.images import ImageStore
from wildenv.judges.oracle import OracleJudge
from wildenv.messages import Message, digests_of, image_block, observation_text, text_block, to_hermes, tool_message
from wildenv.miniweb.provider import MiniwebProvider
from wildenv.miniweb.world import MiniWorld
from wildenv.policy import Policy
from wildenv.rewards.search import SearchReward
from wildenv.rollout import play
from wildenv.web.client import WebClient

BLACK = np.zeros((84, 112, 3), np.uint8)
BLACK_DIGEST = ImageStore().put(Image.fromarray(BLACK))
WEIGHTS = {"reasoning": 1.0, "tool_call": 1.0, "answer": 1.0}
SAID = [
    hermes("Look.", "text_search", queries=["lantern", "trim <|im_end|>"]),
    hermes("Read.", "web_fetch", url="https://lantern.example/launch", prompt="trim"),
    "I forgot the call. " + "And I went on. " * 200,
    hermes("See.", "image_search", query="teal lantern"),
    "half a pair \ud800 <|image_pad|> <tool_call>{",
    hermes("Cut.", "crop_image", image_id="IMG_002", box=[0, 0, 500, 900]),
    hermes("Cut.", "crop_image", image_id="IMG_099", box=[0, 0, 500, 900]),
    hermes("Teal: IMG_001.", "answer", prompt="A teal lantern.", references=["IMG_001"]),
]


class Told(BatchedGenerator):
    """Writes what the test says, and keeps the prompts."""

    def __init__(self, loaded: Loaded, says: list[str]) -> None:
        super().__init__(loaded)
        self.says = says
        self.prompts: list[Encoded] = []

    async def generate(self, encoded: Encoded, seed: int = 0) -> list[int]:
        self.prompts.append(encoded)
        return [*self.loaded.tokenizer.encode(self.says[len(self.prompts) - 1], add_special_tokens=False)]


def collated(nano: Loaded, episode: Episode, images: ImageStore, folder: Path) -> dict[str, torch.Tensor]:
    """Returns what a trainer makes of an episode, by way of the disk."""
    with RowWriter(folder) as writer:
        for digest in digests_of(episode.messages):
            writer.images.put_png(images.png(digest))
        writer.write(Row.from_episode(Episode.from_dict(json.loads(json.dumps(episode.to_dict())))))
    rows = RowFolder(folder)
    return TrajectoryCollator(rows, nano.encoder, WEIGHTS)([{"row": 0, "kept": len(episode.messages)}])


def asked(nano: Loaded, model: FakeChat) -> list[Encoded]:
    """Returns what a chat model was asked, as a checkpoint would read it."""
    shown = [(one, one.images) for one in model.shown]
    return [nano.encoder.encode(one.messages, one.tools, images, True) for one, images in shown if images is not None]


def same_tokens(batch: dict[str, torch.Tensor], prompts: list[Encoded], turns: list[int]) -> None:
    """Checks that each prompt is a prefix of the batch that ends where the turn it asks for begins."""
    ids, classes = batch["input_ids"][0].tolist(), batch["classes"][0].tolist()
    begins = [i for i in range(1, len(ids)) if classes[i] and not classes[i - 1]]
    assert [begins[turn - 1] for turn in turns] == [len(prompt) for prompt in prompts]
    for prompt in prompts:
        assert prompt.input_ids == ids[: len(prompt)]
        if prompt.pixel_values is not None:
            assert torch.equal(prompt.pixel_values, batch["pixel_values"][: len(prompt.pixel_values)])
    assert any(prompt.pixel_values is not None for prompt in prompts)


NATIVE = [
    reply("Look.", ("text_search", {"queries": ["lantern"]}), ("image_search", {"query": "teal lantern"})),
    reply("", ("crop_image", {"image_id": "IMG_002", "box": [0, 0, 500, 900]})),
    reply("Teal.", ("answer", {"prompt": "A teal lantern.", "references": ["IMG_003"]})),
]


@pytest.mark.parametrize("kind", ["local", "hermes", "native"])
def test_at_every_turn_the_prompt_is_what_the_collator_makes_of_the_record(nano: Loaded, tmp_path: Path, kind: str) -> None:
    # A tokenizer never gives half of a surrogate pair, an endpoint may.
    generator = Told(nano, [said.replace("\ud800", "?") for said in SAID])
    model = FakeChat(*(NATIVE if kind == "native" else SAID))
    policy: Policy = LocalPolicy(generator, "Find pictures.") if kind == "local" else ChatPolicy(model)
    env = make_env()
    episode = asyncio.run(play(env, policy, "task-1", seed=5))
    assert episode.end_reason == "answered"
    prompts = generator.prompts if kind == "local" else asked(nano, model)
    assert len(prompts) == episode.usage["turns"] == (len(NATIVE) if kind == "native" else len(SAID))
    same_tokens(collated(nano, episode, env.store, tmp_path), prompts, list(range(1, len(prompts) + 1)))


def test_what_a_policy_says_beside_the_chat_is_in_no_record(nano: Loaded, tmp_path: Path) -> None:
    search = hermes("See.", "image_search", query="teal lantern")
    other = hermes("Else.", "image_search", query="lantern")
    model = FakeChat(search, search, other, hermes("Teal.", "answer", prompt="A teal lantern.", references=["IMG_001"]))
    env = make_env()
    episode = asyncio.run(play(env, ChatPolicy(model), "task-1", seed=5))
    assert episode.end_reason == "answered"
    prompts = asked(nano, model)
    batch = collated(nano, episode, env.store, tmp_path)
    same_tokens(batch, [prompts[0], prompts[1], prompts[3]], [1, 2, 3])
    assert prompts[2].input_ids != batch["input_ids"][0, : len(prompts[2])].tolist(), "the third request was a reminder"


@pytest.mark.parametrize("native", [False, True])
def test_a_chat_that_says_what_the_teacher_said_plays_the_same_episode(small_world: MiniWorld, native: bool) -> None:
    """Byte for byte, on the miniweb: with the tools' real texts, pictures and ids."""
    env = WildEnv(small_world.tasks("train"), WebClient(MiniwebProvider(small_world)), SearchReward(OracleJudge(small_world)))
    for number in range(4):
        task_id = small_world.tasks("train")[number].id
        taught = asyncio.run(play(env, LciPolicy(), task_id, seed=3, name="x"))
        turns = [message for message in taught.messages if message["role"] == "assistant"]
        if native:
            says: list[Any] = [
                reply(
                    "".join(block["text"] for block in turn["content"]),
                    *((call["function"]["name"], call["function"]["arguments"]) for call in turn["tool_calls"]),
                )
                for turn in turns
            ]
        else:
            says = [to_hermes(turn) for turn in turns]
        policy = ChatPolicy(FakeChat(*says), prompt="lci", reminders=0)
        played = asyncio.run(play(env, policy, task_id, seed=3, name="x"))
        if not native:
            assert played.without_model_usage().digest() == taught.digest()
        assert played.reward == taught.reward
        assert [merged(message) for message in policy.messages] == [merged(message) for message in played.messages]
        assert all(block["id"] for message in policy.messages for block in message["content"] if block["type"] == "image")


def merged(message: Message) -> Message:
    """Returns a message with texts in a row as one."""
    blocks: list[dict[str, Any]] = []
    for block in message["content"]:
        if blocks and block["type"] == "text" == blocks[-1]["type"]:
            blocks[-1] = text_block(f"{blocks[-1]['text']}\n{block['text']}")
        else:
            blocks.append(dict(block))
    return {**message, "content": blocks}


@pytest.mark.parametrize(
    "texts",
    [["\nbegins empty"], ["ends empty\n"], ["", "one", ""], ["IMG_001: a\n", None, "", None], [None, "\n\n", None], []],
)
def test_a_tool_of_any_style_reads_the_same(nano: Loaded, tools: list[dict[str, Any]], texts: list[str | None]) -> None:
    """Empty lines at the edge of a tool's text reach the policy as the trainer sees them."""
    chat = Transcript("You find pictures.")
    chat.hear({"text": "A lantern.", "images": (), "calls_left": 8})
    action = chat.say(hermes("See.", "image_search", query="lantern"))
    assert action is not None
    content = [image_block("", BLACK_DIGEST) if text is None else text_block(text) for text in texts]
    recorded = [*chat.messages, tool_message(action.calls[0], content)]
    shown = tuple(BLACK for text in texts if text is None)
    chat.hear({"text": observation_text(recorded[-1:]), "images": shown, "calls_left": 7})
    heard, read = (nano.encoder.encode(messages, tools, chat.store) for messages in (chat.messages, recorded))
    assert heard.input_ids == read.input_ids


def test_pictures_carry_the_ids_that_the_text_before_them_names() -> None:
    chat = Transcript("You find pictures.")
    chat.hear({"text": "A lantern.", "images": (), "calls_left": 8})
    chat.say(hermes("See.", "image_search", query="lantern"))
    lines = ["note", "IMG_001: lantern | u", "<image>", "IMG_002 = IMG_001 [0,0,9,9]", "<image>", "plain", "<image>"]
    text = "\n".join(["<tool_response>", *lines, "</tool_response>"])
    chat.hear({"text": text, "images": (BLACK,) * 3, "calls_left": 7})
    assert [block["id"] for block in chat.messages[-1]["content"] if block["type"] == "image"] == ["IMG_001", "IMG_002", ""]
