"""What goes over the wire: an action, an observation, a state.

Only what an agent may know has a field here; fields that are not named are refused.
"""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal

import numpy as np
from openenv.core.env_server.types import Action, Observation, State
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from wildenv.errors import DataError
from wildenv.images import decode, encode

PNG: Literal["image/png"] = "image/png"
"""Lossless, so that a policy sees the same pixels wherever it runs."""

# Anything may be sent: what cannot be read as a turn is the agent's mistake, which the environment answers.
_Turn = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}, {"type": "array"}]})]


class WildAction(Action):  # type: ignore[misc] # openenv is untyped
    """One assistant message."""

    message: _Turn = Field(
        description="An assistant message of OpenAI's API, a list of its tool calls, JSON {name, arguments}, or text with "
        "<tool_call>{...}</tool_call> in it"
    )


class WirePicture(BaseModel):
    """One picture."""

    model_config = ConfigDict(extra="forbid")

    media_type: Literal["image/png"] = Field(default=PNG, description="Media type of the decoded data")
    data: str = Field(description="The picture's bytes in base64")

    @classmethod
    def of(cls, pixels: np.ndarray[Any, np.dtype[np.uint8]]) -> WirePicture:
        """Writes pixels, uint8, height x width x 3."""
        return cls(data=base64.b64encode(encode(Image.fromarray(pixels))).decode())

    def pixels(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Returns the pixels, uint8, height x width x 3.

        Raises:
            DataError: If the data is not base64 or no picture.
        """
        try:
            data = base64.b64decode(self.data, validate=True)
        except ValueError as error:
            raise DataError(f"a picture is not in base64: {error}") from error
        return np.asarray(decode(data))


class WildObservation(Observation):  # type: ignore[misc] # openenv is untyped
    """What the agent sees, and what a trainer needs to know of the step; `done` and `reward` are OpenEnv's own fields."""

    text: str = Field(description="The task after a reset, the tools' replies after a step; a line <image> is a picture's place")
    images: list[WirePicture] = Field(default_factory=list, description="Pictures in the order the text names them")
    calls_left: int = Field(description="Tool calls left")
    task_id: str = Field(description="The task being played")
    task_prompt: str = Field(default="", description="After a reset: what the user asks for")
    tools: list[dict[str, Any]] = Field(default_factory=list, description="After a reset: the tools' schemas in OpenAI's form")
    end_reason: str = Field(default="", description="How the episode ended: answered, budget, turns, context, web, tool, judge")
    failure: str = Field(default="", description="What failed, if something other than the agent did")
    reward_valid: bool = Field(default=True, description="Whether the reward may be trained on")
    rewards: dict[str, float] = Field(default_factory=dict, description="Components of the reward by name, at the end")
    digest: str = Field(default="", description="Digest of the episode's record, at the end")


class WildState(State):  # type: ignore[misc] # openenv is untyped
    """Where an episode is; before the first reset only `tools` says something."""

    model_config = ConfigDict(extra="forbid")

    task_id: str = Field(default="", description="The task being played")
    task_prompt: str = Field(default="", description="What the user asks for")
    calls_left: int = Field(default=0, description="Tool calls left")
    end_reason: str = Field(default="", description="How the episode ended; empty while it runs")
    tools: list[dict[str, Any]] = Field(default_factory=list, description="The tools' schemas in OpenAI's form")
