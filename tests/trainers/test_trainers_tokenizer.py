"""The nano tokenizer: exact, small, and with the tokens that chats are made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainers.tokenizer import CONTROL_TOKENS, TAG_TOKENS, train_tokenizer
from wildenv.errors import ConfigError

TEXTS = [f"The {colour} kite of 20{year:02d} flew over the harbour." for colour in ("teal", "lime") for year in range(40)]


def test_any_text_comes_back_exactly() -> None:
    tokenizer = train_tokenizer(TEXTS, vocab_size=600)
    for text in [
        "a  b\n\n\tc ",
        "Ünïcödé 漢字 🙂",
        '{"box":[0,12,345,1000]}',
        "IMG_007 IMG_41 snake_case",
        " lead",
        "ends ",
        "don't",
    ]:
        assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_control_tags_and_image_ids_are_one_token_each() -> None:
    tokenizer = train_tokenizer(TEXTS, vocab_size=600, images=40)
    for text in (*CONTROL_TOKENS, *TAG_TOKENS, "IMG_001", "IMG_040"):
        assert len(tokenizer.encode(text, add_special_tokens=False)) == 1, text
    assert len(tokenizer.encode("IMG_041", add_special_tokens=False)) > 1
    shown = tokenizer.encode("see IMG_002,IMG_003", add_special_tokens=False)
    assert {tokenizer.convert_tokens_to_ids(i) for i in ("IMG_002", "IMG_003")} <= set(shown)
    assert tokenizer.eos_token == "<|im_end|>"


def test_tags_survive_decoding_without_control_tokens() -> None:
    tokenizer = train_tokenizer(TEXTS, vocab_size=600)
    ids = tokenizer.encode("<tool_call>{}</tool_call><|im_end|>", add_special_tokens=False)
    assert tokenizer.decode(ids, skip_special_tokens=True) == "<tool_call>{}</tool_call>"


def test_the_vocabulary_is_what_was_asked_for_and_fits_the_corpus() -> None:
    tokenizer = train_tokenizer(TEXTS, vocab_size=600)
    assert len(tokenizer) <= 600
    assert tokenizer.tokenize(" harbour") == ["Ġharbour"]
    assert len(tokenizer.encode('{"name":"image_search","arguments":{"query":"harbour', add_special_tokens=False)) <= 10


def test_the_same_corpus_gives_the_same_tokenizer() -> None:
    one, other = (train_tokenizer(iter(TEXTS), vocab_size=600) for _ in range(2))
    assert one.backend_tokenizer.to_str() == other.backend_tokenizer.to_str()


def test_a_full_size_tokenizer_is_small_on_disk(tmp_path: Path) -> None:
    words = [
        f"{a}{b}{c}" for a in "bdfgklmn" for b in "aeiou" for c in ("r", "st", "ndle", "v", "ka", "ro", "li", "mu", "to", "xi")
    ]
    texts = [
        " ".join(words[i : i + 60]) + " " + " ".join(f"{w}{v}" for w in words[i : i + 60] for v in words[:40])
        for i in range(0, 400, 20)
    ]
    tokenizer = train_tokenizer(texts, vocab_size=4_000)
    assert len(tokenizer) == 4_000
    tokenizer.save_pretrained(tmp_path)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 500_000


def test_settings_that_cannot_work_are_named() -> None:
    with pytest.raises(ConfigError, match=r"vocab_size=100"):
        train_tokenizer(TEXTS, vocab_size=100)
    with pytest.raises(ConfigError, match="corpus is empty"):
        train_tokenizer([], vocab_size=600)


def test_a_name_of_few_texts_is_no_token() -> None:
    texts = [*TEXTS, *["The Velmora, the Velmora and again the Velmora."] * 3]
    assert train_tokenizer(texts, vocab_size=900, min_share=0.0).tokenize(" Velmora") == ["ĠVelmora"]
    spare = train_tokenizer(texts, vocab_size=900, min_share=0.1)
    assert len(spare.tokenize(" Velmora")) > 2
    assert spare.tokenize(" harbour") == ["Ġharbour"]


def test_a_word_has_the_same_tokens_in_prose_and_at_the_start_of_a_json_string() -> None:
    tokenizer = train_tokenizer(["What does the Fenar Debolix kit look like? Fenar is new."] * 50, min_share=0.9)
    call = '{"name":"text_search","arguments":{"queries":["Fenar Debolix kit","Fenar"]}}'
    prose = tokenizer.encode("the Fenar Debolix kit")[-3:]
    assert tokenizer.convert_ids_to_tokens(prose)[0] == "ĠFenar"
    ids = tokenizer.encode(call)
    assert any(ids[i : i + 3] == prose for i in range(len(ids)))
    assert tokenizer.decode(ids) == call
