"""One thing a chat model is asked: the request as it is sent, and the key its reply is kept under.

The key is taken from the request itself, with the digest of each picture in place of its bytes. So whatever can change the reply
changes the key, also a changed wording of ours; the endpoint's address and the ids that pictures have in an episode do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from wildenv.errors import UsageError
from wildenv.images import ImageStore
from wildenv.messages import Message, digests_of, text_block, to_openai
from wildenv.models.dialect import Dialect, flat
from wildenv.models.pictures import Pictures
from wildenv.models.sampling import Sampling
from wildenv.models.shape import Shape
from wildenv.models.wording import wording
from wildenv.web.request import canonical_json, sha256


class Asked(Protocol):
    """What a request has to know of the model it goes to."""

    model: str
    sampling: Sampling
    dialect: Dialect
    pictures: Pictures


class Ask:
    """A request.

    Args:
        model: Who is asked.
        messages: The chat in canonical form.
        tools: Tools in OpenAI's form.
        shape: That the reply has to have.
        images: Where the pictures of the chat are.
        seed: Replaces the seed of the sampling.

    Raises:
        UsageError: If the chat has pictures and there is no `images`.
    """

    def __init__(
        self,
        model: Asked,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]] | None,
        shape: Shape | None,
        images: ImageStore | None,
        seed: int | None,
    ) -> None:
        self._sees = bool(digests_of(messages))
        if self._sees and images is None:
            raise UsageError("the chat has pictures; give the ImageStore they are in as images=")
        self.shape = shape
        self.seed = model.sampling.seed if seed is None else seed
        self._pictures = model.pictures
        self._images = ImageStore() if images is None else images
        self._chat = model.dialect.chat(messages, tools, shape)
        self._fields = {
            "model": model.model,
            **model.sampling.parameters(model.dialect.limit, seed),
            **model.dialect.parameters(tools, shape),
        }

    @cached_property
    def request(self) -> dict[str, Any]:
        """What the key is taken from; JSON values."""
        found: dict[str, Any] = {"body": self._body(self._chat, lambda digest: digest)}
        if self._sees:
            found["pictures"] = self._pictures.to_dict()
        if self.shape is not None:
            found |= {"schema": self.shape.schema, "repair": wording("repair")}
        return found

    @cached_property
    def key(self) -> str:
        """64 hex digits."""
        return sha256(canonical_json(self.request))

    def body(self) -> dict[str, Any]:
        """Returns the body of the request."""
        return self._body(self._chat, self._url)

    def repair(self, said: str, complaint: str) -> dict[str, Any]:
        """Returns the body of a second request, which shows the model its reply and what is wrong with it.

        Raises:
            UsageError: If no schema was asked for.
        """
        if self.shape is None:
            raise UsageError("only a reply with a schema can be repaired")
        words = wording("repair").format(complaint=complaint, schema=canonical_json(self.shape.schema))
        chat = [
            *self._chat,
            {"role": "assistant", "content": [text_block(said)]},
            {"role": "user", "content": [text_block(words)]},
        ]
        return self._body(chat, self._url)

    def _body(self, chat: Sequence[Message], picture: Callable[[str], str]) -> dict[str, Any]:
        return {**self._fields, "messages": [flat(message) for message in to_openai(chat, self._images, picture)]}

    def _url(self, digest: str) -> str:
        return self._pictures.url(digest, self._images)
