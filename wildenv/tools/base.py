"""What a tool is, and what it may use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Protocol

from wildenv.budget import Budget
from wildenv.errors import ToolError
from wildenv.images import Gallery
from wildenv.messages import Block
from wildenv.web.client import WebClient

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The state of the episode a tool works on. The cutoff comes from the task and is in no tool's schema."""

    web: WebClient
    gallery: Gallery
    budget: Budget
    cutoff: date


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool returns.

    Attributes:
        blocks: Text and image blocks of the reply. Text from the web has been made inert (`wildenv.tools.fence`).
        decisions: Cutoff decisions, JSON values.
        notes: What was left out of the reply and why, JSON values.
    """

    blocks: list[Block]
    decisions: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Tool(Protocol):
    """A tool of the environment. One instance serves many episodes at once and keeps no state."""

    name: str

    def schema(self) -> Schema:
        """Returns the tool's JSON schema in OpenAI's form."""
        ...

    def run(self, context: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
        """Runs the tool.

        Raises:
            ToolError: If the arguments are refused or there is nothing to return; shown to the agent.
            InfrastructureError: If something outside the agent failed; ends the episode.
        """
        ...


def function_schema(name: str, description: str, properties: dict[str, Any], required: Sequence[str]) -> Schema:
    """Returns an OpenAI tool schema."""
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


class Arguments:
    """Reads the arguments of a call, and says what is wrong with them.

    Args:
        tool: Name of the tool, for messages.
        given: What the agent gave.
        known: The arguments the tool has.

    Raises:
        ToolError: If an unknown argument is given.
    """

    def __init__(self, tool: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
        self._tool = tool
        self._given = given
        unknown = [name for name in given if name not in known]
        if unknown:
            raise ToolError(f"{tool} has no argument {unknown[0][:40]!r}; it takes {', '.join(known)}")

    def text(self, name: str, max_chars: int) -> str:
        """Returns a non-empty string."""
        value = self._given.get(name)
        if not isinstance(value, str) or not value.strip():
            raise ToolError(f"{self._tool} needs {name!r}, a non-empty string")
        if len(value) > max_chars:
            raise ToolError(f"{self._tool}: {name!r} has {len(value)} characters; at most {max_chars}")
        return " ".join(value.split())

    def texts(self, name: str, max_count: int, max_chars: int) -> list[str]:
        """Returns one to `max_count` non-empty strings; a single string counts as a list of one."""
        value = self._given.get(name)
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not 1 <= len(values) <= max_count:
            given = f"{len(values)} given" if isinstance(values, list) else "none given" if value is None else "not a list"
            raise ToolError(f"{self._tool} needs {name!r}, one to {max_count} strings ({given})")
        return [Arguments(self._tool, {name: item}, [name]).text(name, max_chars) for item in values]

    def integer(self, name: str, default: int, least: int, most: int) -> int:
        """Returns a whole number within bounds."""
        value = self._given.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ToolError(f"{self._tool}: {name!r} must be a whole number from {least} to {most}, not {str(value)[:40]!r}")
        return value

    def box(self, name: str) -> tuple[int, int, int, int]:
        """Returns four whole numbers; whether they make sense is the gallery's to say."""
        value = self._given.get(name)
        if (
            not isinstance(value, list)
            or len(value) != 4
            or not all(isinstance(v, int | float) and not isinstance(v, bool) and v == v and abs(v) < 1e6 for v in value)
        ):
            raise ToolError(f"{self._tool} needs {name!r}, four numbers [x1,y1,x2,y2] from 0 to 1000")
        x1, y1, x2, y2 = (round(v) for v in value)
        return x1, y1, x2, y2
