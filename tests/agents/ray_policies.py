"""Policies that get in the way of the process that plays them; workers import this file from the search path of the driver."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.baselines.direct_search import DirectSearch
from wildenv.policy import Observation


class Model:
    """Notes in a folder each time it is opened, and by which process.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: str) -> None:
        with (Path(folder) / str(os.getpid())).open("a", encoding="utf-8") as file:
            file.write("opened\n")


class Slow(DirectSearch):
    """Takes its time.

    Args:
        model: Shared by the policies of a process.
        seconds: Of each turn.
    """

    def __init__(self, model: Model, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def act(self, observation: Observation) -> str:
        await asyncio.sleep(self._seconds)
        return await super().act(observation)


class Deadly(DirectSearch):
    """Kills its process at one task for as long as a file is there.

    Args:
        seed: The episode's.
        file: The file.
    """

    def __init__(self, seed: int, file: str) -> None:
        super().__init__()
        self._deadly, self._file = seed, file
        self._now = False

    def reset(self, task_prompt: str, tools: Sequence[dict[str, Any]], seed: int = 0) -> None:
        super().reset(task_prompt, tools, seed)
        self._now = seed == self._deadly and Path(self._file).exists()

    async def act(self, observation: Observation) -> str:
        if self._now:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().act(observation)


class Raising(DirectSearch):
    """Never gets anywhere."""

    async def act(self, observation: Observation) -> str:
        raise ValueError("no more ideas")


class Refusing(DirectSearch):
    """Cannot be made."""

    def __init__(self) -> None:
        raise ValueError("out of order")


class Keyed(DirectSearch):
    """Needs a key.

    Args:
        variable: The environment variable that holds it.
    """

    def __init__(self, variable: str) -> None:
        super().__init__()
        if variable not in os.environ:
            raise ValueError(f"no {variable} here")
