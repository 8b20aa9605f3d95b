"""How a model draws its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from wildenv.errors import ConfigError
from wildenv.models.dialect import Limit

_OWN = frozenset({"model", "messages", "tools", "response_format", "temperature", "top_p", "seed", "stream", "n"})


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters; None leaves one to the endpoint.

    Attributes:
        temperature: 0 for the likeliest words; some reasoning models accept None only.
        top_p: Nucleus.
        max_tokens: Longest reply, reasoning included; one that reaches it is an error.
        seed: For endpoints that know one. Few guarantee the same reply for it.
        extra: Further fields of the request, such as ``top_k`` or ``chat_template_kwargs``.

    Raises:
        ConfigError: If a value is out of range.
    """

    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int | None = 2_048
    seed: int | None = 0
    extra: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise ConfigError(f"temperature={self.temperature} must be from 0 to 2")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p={self.top_p} must be above 0 and at most 1")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ConfigError(f"max_tokens={self.max_tokens} must be at least 1")
        taken = sorted(_OWN & self.extra.keys())
        if taken:
            raise ConfigError(f"extra.{taken[0]} is not an extra field; it has a setting of its own, or is not supported")
        object.__setattr__(self, "extra", MappingProxyType(dict(self.extra)))

    def parameters(self, limit: Limit, seed: int | None) -> dict[str, Any]:
        """Returns the fields of the request.

        Args:
            limit: Name of the field for the longest reply.
            seed: Replaces `seed` unless it is None.
        """
        fields = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            limit: self.max_tokens,
            "seed": self.seed if seed is None else seed,
        }
        return {**self.extra, **{name: value for name, value in fields.items() if value is not None}}
