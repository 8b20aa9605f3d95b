"""What an episode may spend, and what it has spent.

Limits are enforced here, before a model or a trainer sees anything, and every cut is announced in the text that was cut. The
token count is an estimate (four characters a token, one token a picture cell); a trainer counts exactly.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from wildenv.errors import ConfigError
from wildenv.images import PixelPolicy

CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Limits:
    """The budget of an episode.

    Attributes:
        tool_calls: Tool calls, the answer not counted (Savanna, section 3.2: 8).
        spare_turns: Assistant turns beyond one a tool call and one for the answer, for unreadable actions and refused answers;
            one unreadable action more ends the episode.
        images_per_search: Pictures shown by one image search (Savanna, section 3.2: 5).
        images: Pictures of the whole episode, crops included.
        references: References of an answer.
        chars_per_result: Characters of one tool reply.
        tokens: Estimated tokens of the whole chat.
    """

    tool_calls: int = 8
    spare_turns: int = 3
    images_per_search: int = 5
    images: int = 40
    references: int = 5
    chars_per_result: int = 4_000
    tokens: int = 36_000

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            least = 0 if name == "spare_turns" else 1
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ConfigError(f"env.limits.{name}={value!r} must be a whole number of at least {least}")


class Budget:
    """Counts what an episode has spent of its `Limits`."""

    def __init__(self, limits: Limits, pixels: PixelPolicy) -> None:
        self.limits = limits
        self._cell = pixels.multiple**2
        self.tool_calls = 0
        self.turns = 0
        self.unreadable = 0
        self.images = 0
        self.pixels = 0
        self.chars = 0

    @property
    def calls_left(self) -> int:
        """Tool calls left."""
        return self.limits.tool_calls - self.tool_calls

    @property
    def images_left(self) -> int:
        """Pictures left."""
        return self.limits.images - self.images

    @property
    def turns_left(self) -> int:
        """Assistant turns left."""
        return self.limits.tool_calls + 1 + self.limits.spare_turns - self.turns

    @property
    def out_of_turns(self) -> bool:
        """Whether no further assistant turn is allowed."""
        return self.turns_left < 1 or self.unreadable > self.limits.spare_turns

    @property
    def tokens(self) -> int:
        """Estimated tokens so far."""
        return self.chars // CHARS_PER_TOKEN + self.pixels // self._cell

    def spend_text(self, text: str) -> None:
        """Counts characters of the chat, whoever wrote them."""
        self.chars += len(text)

    def spend_image(self, width: int, height: int) -> None:
        """Counts one picture, in the size it is shown."""
        self.images += 1
        self.pixels += width * height

    def cut(self, text: str, hint: str) -> tuple[str, int]:
        """Shortens a tool reply to `Limits.chars_per_result`.

        Args:
            text: The reply.
            hint: What the agent can do to see the rest.

        Returns:
            The text, with a notice where it was cut, and how many characters were cut.
        """
        room = self.limits.chars_per_result
        if len(text) <= room:
            return text, 0
        lost = len(text) - room
        return f"{text[:room].rstrip()}\n[cut: {lost} more characters; {hint}]", lost

    def usage(self) -> dict[str, int]:
        """Returns the counts by name."""
        return {
            "tool_calls": self.tool_calls,
            "turns": self.turns,
            "unreadable": self.unreadable,
            "images": self.images,
            "pixels": self.pixels,
            "chars": self.chars,
            "tokens": self.tokens,
        }
