"""Whether an episode fits into the lengths that are set, counted in tokens of the model's own tokenizer.

What a tool replies is not known beforehand: its characters are counted at the rate of the tasks' own texts, its pictures at their
largest. A real page may take more tokens a character.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from trainers.checks.finding import Finding, Status
from trainers.checks.subject import GRPO, Subject
from wildenv.budget import CHARS_PER_TOKEN
from wildenv.errors import ConfigError
from wildenv.images import ImageStore
from wildenv.messages import text_of

LENGTH, ENVIRONMENT, POSITIONS, REPLY = "length", "budget of the environment", "positions", "room for a turn"


def positions(subject: Subject) -> Iterator[Finding]:
    """Whether the model has positions for the longest chat."""
    most = getattr(subject.known.config.get_text_config(), "max_position_embeddings", None)
    longest = subject.trainer["max_length"]
    if most is not None and longest > most:
        raise ConfigError(
            f"trainer.max_length={longest} is more than the {most} positions the model was made for; lower trainer.max_length"
        )
    yield Finding(POSITIONS, Status.PASSED, f"{longest} tokens of {most if most is not None else 'any number of'} positions")


def length(subject: Subject) -> Iterator[Finding]:
    """Whether the shortest useful episode fits: prompt, one search with the largest reply, and an answer."""
    subject.must_play()
    prompt, reply, picture = _tokens(subject)
    limits, longest = subject.limits, subject.trainer["max_length"]
    turn = subject.config["rollout"]["max_new_tokens"] if subject.kind == GRPO else 0
    largest = reply + limits.images_per_search * picture
    least = prompt + turn + largest + turn
    shown = f"prompt {prompt}, the largest reply {largest} ({limits.images_per_search} pictures of {picture})"
    if turn:
        shown += f", a turn at most {turn}"
    if least > longest:
        lower = "env.limits.chars_per_result, env.limits.images_per_search or model.pixels.max_pixels"
        raise ConfigError(
            f"trainer.max_length={longest} holds no episode of one search and an answer, which take about {least} tokens "
            f"({shown}); raise trainer.max_length, or lower {'rollout.max_new_tokens, ' if turn else ''}{lower}"
        )
    most = (
        prompt
        + (limits.tool_calls + 1) * turn
        + limits.tool_calls * reply
        + min(limits.images, limits.tool_calls * limits.images_per_search) * picture
    )
    # An episode as long as its limits allow is rare: replies are seldom as large as they may be.
    end = "ends there" if subject.kind == GRPO else "is cut by whole turns"
    note = "always fits" if most <= longest else f"may outgrow it and then {end}"
    yield Finding(LENGTH, Status.PASSED, f"tokens: {shown}; the largest episode, {most} of {longest}, {note}")


def environment(subject: Subject) -> Iterator[Finding]:
    """Whether the environment's own estimate of tokens lets the shortest useful episode through."""
    subject.must_play()
    limits = subject.limits
    cells = subject.pixels.max_pixels // subject.pixels.multiple**2
    opening = sum(len(text_of(message)) for message in subject.opening()) // CHARS_PER_TOKEN
    least = opening + limits.chars_per_result // CHARS_PER_TOKEN + limits.images_per_search * cells
    if least > limits.tokens:
        raise ConfigError(
            f"env.limits.tokens={limits.tokens} ends an episode at its first large reply (about {least} tokens by the "
            "environment's count); raise env.limits.tokens, or lower env.limits.chars_per_result or env.limits.images_per_search"
        )
    yield Finding(ENVIRONMENT, Status.PASSED, f"env.limits.tokens={limits.tokens} holds prompt and largest reply, {least}")


def _tokens(subject: Subject) -> tuple[int, int, int]:
    """Returns the tokens of the first prompt, of the text of the largest reply, and of the largest picture."""
    encoder = subject.fitted.encoder
    chat = subject.opening()
    prompt = len(encoder.encode(chat, subject.tools, ImageStore(), add_generation_prompt=True))
    sample = "\n".join(subject.prompts())
    rate = len(encoder.tokenizer(sample, add_special_tokens=False)["input_ids"]) / len(sample)
    picture = subject.pixels.max_pixels // subject.pixels.multiple**2 if encoder.vision else 0
    return prompt, ceil(rate * subject.limits.chars_per_result), picture
