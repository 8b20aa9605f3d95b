"""What judges, readers and policies need of a chat model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from wildenv.images import ImageStore
from wildenv.messages import Message
from wildenv.models.reply import Reply


@runtime_checkable
class Chat(Protocol):
    """A model that answers a chat: `wildenv.models.chat.ChatModel` behind an endpoint, or one in this process.

    Attributes:
        model: Its name; part of what is recorded with its answers.
    """

    model: str

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        schema: Mapping[str, Any] | None = None,
        images: ImageStore | None = None,
        seed: int | None = None,
    ) -> Reply:
        """Returns the model's next turn.

        Args:
            messages: The chat in canonical form (`wildenv.messages`).
            tools: Tools in OpenAI's form.
            schema: JSON schema that the reply has to fit; one repair is tried.
            images: Where the pictures of the chat are.
            seed: For this call.

        Raises:
            ReplyError: If the reply cannot be used.
            ProviderError: If the model failed.
        """
        ...
