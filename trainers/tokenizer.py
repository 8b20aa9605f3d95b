"""Trains the nano model's tokenizer: a small byte-level BPE with Qwen's control tokens and one token per image id.

Any text can be encoded and decoded back exactly, unless it holds the tokenizer's own mark, a word joiner before a space. The
merges fit the corpus they were trained on; other text costs more tokens.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from wildenv.errors import ConfigError

END_OF_TURN = "<|im_end|>"
PADDING = "<|endoftext|>"
CONTROL_TOKENS = (
    PADDING,
    "<|im_start|>",
    END_OF_TURN,
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
"""Written by chat templates only; left out when decoding without special tokens."""
TAG_TOKENS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
"""One token each, but text: a decoder must keep them."""

_BYTES = 256
# At the start of a JSON string a word would lose the space it has in prose, and with it its tokens: a model that copies would
# have to know both spellings of every syllable. So the space is put there, behind a mark that takes it out when decoding.
_MARK = "\u2060"
_STRING_START = Regex(r"(?<=[:\[,]\")(?=\p{L})")
# Words carry their space; an underscore belongs to its word, so that tool names stay short; numbers are cut every four digits.
_WORDS = Regex(r" ?[\p{L}\p{M}_]+| ?\p{N}{1,4}| ?[^\s\p{L}\p{M}\p{N}_]+|\s+(?!\S)|\s+")
# The chat template's own words, too rare in a corpus of pages to be merged otherwise.
_SCAFFOLD = (
    "system\nuser\nassistant\n",
    '{"name":"text_search","arguments":{"queries":["a',
    '{"name":"web_fetch","arguments":{"url":"https://www.","prompt":"a',
    '{"name":"image_search","arguments":{"query":"a',
    '{"name":"crop_image","arguments":{"image_id":"","box":[0,0,1000,1000]}}\n',
    '{"name":"answer","arguments":{"prompt":"a","references":["","a',
    '"]}}\n","","a',
    "(k: integer, queries: [string])\n(box: [integer], image_id: string)\n(prompt: string, url: string)",
)


def train_tokenizer(
    texts: Iterable[str], vocab_size: int = 4_000, images: int = 40, min_share: float = 0.005
) -> PreTrainedTokenizerFast:
    """Trains a tokenizer.

    Args:
        texts: The corpus, any iterable of strings. The same corpus gives the same tokenizer.
        vocab_size: Upper bound of the vocabulary, control tokens and image ids included.
        images: ``IMG_001`` to this number are single tokens.
        min_share: Share of the texts that a piece must occur in (and at least two) to become a token. Without a floor the
            names of the training events would be tokens, while the names met at test time fall apart: a model would learn to
            copy the former and never the latter.

    Raises:
        ConfigError: If the vocabulary cannot hold the bytes and the fixed tokens, or the corpus holds no text.
    """
    ids = [f"IMG_{number:03d}" for number in range(1, images + 1)]
    fixed = len(CONTROL_TOKENS) + len(TAG_TOKENS) + len(ids)
    if vocab_size < _BYTES + fixed:
        raise ConfigError(f"model.tokenizer.vocab_size={vocab_size} is less than its {_BYTES + fixed} fixed tokens")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(_WORDS, "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.normalizer = normalizers.Replace(_STRING_START, f"{_MARK} ")
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Replace(f"{_MARK} ", "")])
    split = pre_tokenizers.Split(_WORDS, "isolated")
    # A word counts once a text: what matters is in how many texts it occurs.
    words = [list(dict.fromkeys(word for word, _ in split.pre_tokenize_str(text))) for text in texts]
    if not any(words):
        raise ConfigError("the tokenizer's corpus is empty; build it from a world with at least one article")
    floor = max(2, math.ceil(min_share * len(words)))
    tokenizer.train_from_iterator(
        itertools.chain(words, (line for line in _SCAFFOLD for _ in range(floor))),
        trainers.BpeTrainer(
            vocab_size=vocab_size - fixed,
            min_frequency=floor,
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        ),
    )
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in CONTROL_TOKENS])
    tokenizer.add_tokens([AddedToken(token, normalized=False, special=False) for token in (*TAG_TOKENS, *ids)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END_OF_TURN,
        pad_token=PADDING,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        model_max_length=32_768,
    )
