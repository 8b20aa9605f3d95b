"""The class that TRL's `GRPOTrainer` takes as an environment.

TRL reads its public functions: `reset` gets each row of the dataset, every other one becomes a tool, with its schema made of the
signature and the docstring. Instances are pooled and used again, and never closed. A tool called after the end of the episode
raises, which TRL tells the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wildenv.adapters.trl.session import Session
from wildenv.env import WildEnv
from wildenv.errors import ConfigError, ToolError


class WildTools:
    """The four tools and the answer, as methods."""

    def __init__(self, make_env: Callable[[], WildEnv]) -> None:
        self._session = Session(make_env)

    def reset(self, task_id: str | None = None, **row: Any) -> str:
        """Starts the episode of a row of the dataset.

        Args:
            task_id: Column with the id of the task.
            **row: The other columns, which are not read.

        Returns:
            What is added to the row's last user message, from a new line on.
        """
        if not isinstance(task_id, str):
            raise ConfigError("the dataset for GRPO needs a column task_id with the ids of tasks; see trainers.rl.dataset")
        messages = row.get("prompt") or [{}]
        system = messages[0].get("content") if messages[0].get("role") == "system" else None
        return "\n" + self._session.start(task_id, system_prompt=system if isinstance(system, str) else None)

    def text_search(self, queries: list[str], k: int = 5) -> list[dict[str, Any]]:
        """Search web pages with one to 3 queries; k results each, with title, date, address and snippet.

        Args:
            queries: one to 3 queries
            k: results of each query, 1 to 10
        """
        return self._play("text_search", queries=queries, k=k)

    def web_fetch(self, url: str, prompt: str, part: int = 1) -> list[dict[str, Any]]:
        """Read a web page: what it says about the prompt.

        Args:
            url: address of the page
            prompt: what to look for on the page
            part: 1 unless given; the next part of a long page
        """
        return self._play("web_fetch", url=url, prompt=prompt, part=part)

    def image_search(self, query: str) -> list[dict[str, Any]]:
        """Search pictures: shows candidates, each with its image id, title and page.

        Args:
            query: what to look for
        """
        return self._play("image_search", query=query)

    def crop_image(self, image_id: str, box: list[int]) -> list[dict[str, Any]]:
        """Cut a box out of a picture; gives a new image id.

        Args:
            image_id: the picture
            box: [x1,y1,x2,y2] from 0 to 1000
        """
        return self._play("crop_image", image_id=image_id, box=box)

    def answer(self, prompt: str, references: list[str]) -> list[dict[str, Any]]:
        """End with the prompt and the reference pictures.

        Args:
            prompt: refined prompt; keeps every condition of the request
            references: image ids for the generator
        """
        return self._play("answer", prompt=prompt, references=references)

    def _play(self, name: str, **arguments: Any) -> list[dict[str, Any]]:
        if self._session.ended:
            raise ToolError("the episode has ended; say nothing more")
        replies = self._session.say({"name": name, "arguments": arguments})
        blocks = self._session.blocks(replies)
        if self._session.ended:
            blocks.append({"type": "text", "text": "The episode has ended."})
        return blocks


def environments(make_env: Callable[[], WildEnv]) -> Callable[[], WildTools]:
    """Returns what ``GRPOTrainer(environment_factory=...)`` takes.

    Args:
        make_env: Makes an environment with ``reward=None``; called once for each rollout of a batch, so what may be shared
            (web, tasks, reader) is made before.
    """
    return lambda: WildTools(make_env)


def session_of(environment: WildTools) -> Session:
    """Returns the rollout behind the tools, for rewards and trainers. It is a function because a public property would be the
    model's."""
    return environment._session
