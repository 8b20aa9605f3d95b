"""What policies with a chat model share: opening it, its seeds, what it takes, and replies that cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.transcript import turn_seed
from wildenv.disarm import disarm
from wildenv.errors import ConfigError
from wildenv.messages import Message
from wildenv.models.base import Chat
from wildenv.models.chat import ChatModel
from wildenv.models.reply import Reply, ReplyError
from wildenv.models.usage import Usage
from wildenv.web.store import Store

_SETTING = "agent.model"


class Tally:
    """Asks a model and adds up what its replies took, those that cannot be used included.

    Attributes:
        spent: The sum. A reply from a store counts like the one that was asked for, so that episodes stay the same.
    """

    def __init__(self) -> None:
        self.spent = Usage()

    async def ask(self, model: Chat, messages: Sequence[Message], **asked: Any) -> Reply:
        """Returns the reply; see `Chat.complete`."""
        try:
            reply = await model.complete(messages, **asked)
        except ReplyError as error:
            self.spent += error.usage
            raise
        self.spent += reply.usage
        return reply


def from_config(store: str | Path | None = None, **settings: Any) -> ChatModel:
    """Opens the endpoint of a ``conf/agent/model`` entry.

    Args:
        store: File that replies are kept in; None keeps none.
        **settings: Arguments of `ChatModel`, as plain values.

    Raises:
        ConfigError: Naming the setting that is wrong.
    """
    kept = None
    if store is not None:
        replay = settings.get("mode") == "replay"
        if replay and not Path(store).is_file():
            raise ConfigError(f"{_SETTING}.store={store} does not exist; record it first with {_SETTING}.mode=record")
        kept = Store(store, read_only=replay)
    return ChatModel.from_config(settings, kept, _SETTING)


def unusable(error: ReplyError) -> str:
    """Returns the turn that stands for a reply that cannot be used: its kind and what there was of it.

    No call can be read from it, also if there was a whole one: half an answer is never taken for one. So the environment counts
    it as unreadable and tells the model.
    """
    return not_sent(f"unusable reply, {error.kind}", error.raw)


def not_sent(reason: str, text: str) -> str:
    """Returns a turn without a call: a reason in brackets, and the text with its markup taken out."""
    return disarm(f"({reason}) {text}").strip()


def request_seed(seed: int, number: int) -> int:
    """Returns the seed of one request of an episode, of the size that endpoints take: below 2**31."""
    return turn_seed(seed, number) % 2**31
