"""Many episodes at once in the web of `tests.web.storm_web`, recorded; what that cost is printed as JSON.

``python -m tests.web.storm '{"folder": ..., "url": ..., "allow": [...], ...}'`` plays in a process of its own, so that its memory
is that of the client alone: who serves the web runs it with `play_apart`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from tests.fakes import call
from tests.web.storm_web import KEY, QUERIES, StormWeb
from wildenv.budget import Limits
from wildenv.env import WildEnv
from wildenv.judges.base import Submission, Verdict
from wildenv.policy import Observation
from wildenv.rewards.search import SearchReward
from wildenv.rollout import RolloutSummary, rollout
from wildenv.task import Task, TaskList
from wildenv.testing import sockets_blocked
from wildenv.web.client import WebClient
from wildenv.web.settings import WebSettings, make_client

KEY_ENV = "STORM_KEY"
STORE, EPISODES, LOG = "web.sqlite", "episodes", "debug.log"
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\S+")
_IMAGE = re.compile(r"\bIMG_\d+\b")
_TICK_S = 0.1


@dataclass(frozen=True, slots=True)
class Storm:
    """What is played.

    Attributes:
        folder: Where the store, the episodes and the log go.
        url: Of the search service.
        allow: Addresses that may be fetched from.
        search: ``serper`` or ``searxng``.
        episodes: How many.
        concurrency: Of them at once.
        seed: Of the run.
        queries: Different ones that are asked of each search.
        limits: Of each fetch.
        service_s: Seconds that one attempt at the search service may take.
        tool_s: Seconds that one tool call may take.
    """

    folder: str
    url: str
    allow: Sequence[str]
    search: str = "serper"
    episodes: int = 64
    concurrency: int = 32
    seed: int = 0
    queries: int = QUERIES
    limits: dict[str, float] = field(default_factory=lambda: {"connect_s": 2.0, "first_byte_s": 1.5, "total_s": 3.0})
    service_s: float = 2.0
    tool_s: float = 15.0

    @classmethod
    def over(cls, web: StormWeb, folder: Path, **settings: Any) -> Storm:
        """Returns a storm in a running web."""
        return cls(str(folder), web.service.url, list(web.allow), **settings)

    @property
    def task_ids(self) -> list[str]:
        """Of all episodes."""
        return [task.id for task in tasks(self.episodes)]


@dataclass(frozen=True, slots=True)
class Toll:
    """What a storm cost and came to.

    Attributes:
        rolled: Episodes that were played.
        kept: Episodes that were there already.
        end_reasons: Of those played.
        web: The client's report.
        judged: Ids of the tasks that were judged, in the order they were.
        wall_s: Seconds in all.
        peak_mb: Of resident memory.
        files: Open files before and after.
        most_files: Open at the same time.
        threads: Names of the threads that were left.
        most_threads: At the same time.
        noise: What the process said on standard error.
    """

    rolled: int
    kept: int
    end_reasons: dict[str, int]
    web: dict[str, Any]
    judged: list[str]
    wall_s: float
    peak_mb: float
    files: tuple[int, int]
    most_files: int
    threads: list[str]
    most_threads: int
    noise: str = ""


class Wanderer:
    """A policy that goes where the search results lead; what it does follows from its seed and what it is shown.

    Args:
        queries: How many it knows.
    """

    def __init__(self, queries: int) -> None:
        self._queries = queries

    def reset(self, task_prompt: str, tools: Sequence[dict[str, Any]], seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._addresses: list[str] = []
        self._images: list[str] = []
        self._turn = 0

    async def act(self, observation: Observation) -> dict[str, Any]:
        # Addresses of pictures stand beside their ids, so only lines without one lead to pages.
        for line in observation["text"].splitlines():
            ids = _IMAGE.findall(line)
            self._images += [one for one in ids if one not in self._images]
            if not ids:
                self._addresses += [one for one in _ADDRESS.findall(line) if one not in self._addresses]
        self._turn += 1
        if observation["calls_left"] == 0 or self._turn > 8:
            return call("answer", prompt="a copper kestrel", references=self._images[:3])
        if self._turn == 1:
            return call("text_search", queries=[self._query(), self._query()], k=6)
        if self._turn in (4, 7):
            return call("image_search", query=self._query())
        if self._turn == 5 and self._images:
            return call("crop_image", image_id=self._random.choice(self._images), box=[100, 100, 700, 900])
        if not self._addresses:
            return call("text_search", queries=[self._query()])
        url = self._addresses.pop(self._random.randrange(len(self._addresses)))
        return call("web_fetch", url=url, prompt="What does the copper kestrel look like?")

    def _query(self) -> str:
        return f"kestrel {self._random.randrange(self._queries)}"


class Referee:
    """Passes whatever it is asked about, and remembers that."""

    id = "referee"

    def __init__(self) -> None:
        self.judged: list[str] = []

    async def judge(self, task: Task, submission: Submission) -> Verdict:
        self.judged.append(task.id)
        return Verdict(self.id, 1.0, "it is a picture")


def tasks(count: int) -> TaskList:
    """Returns so many tasks."""
    return TaskList(Task(f"storm-{i:05d}", "Draw the copper kestrel.", date(2026, 5, 1)) for i in range(count))


def recording(storm: Storm) -> WebClient:
    """Returns the client of a storm, made from settings as a user makes it."""
    search: dict[str, Any] = {"name": storm.search, "url": storm.url, "timeout_s": storm.service_s}
    search["rules"] = {"concurrency": 16, "attempts": 2, "backoff_s": 0.1, "longest_wait_s": 5.0}
    search["key_env" if storm.search == "serper" else "authorization_env"] = KEY_ENV
    settings = {
        "mode": "record",
        "store": str(Path(storm.folder) / STORE),
        "search": search,
        "pages": "direct",
        "pictures": "direct",
        "overfetch": 1,
        "limits": storm.limits,
        "host_rules": {"concurrency": 16, "attempts": 2, "backoff_s": 0.1},
        "allow": storm.allow,
    }
    return make_client(WebSettings.of(settings), "keep", {})


def environment(storm: Storm, web: WebClient, referee: Referee | None = None) -> WildEnv:
    """Returns an environment of a storm."""
    reward = SearchReward(referee or Referee())
    return WildEnv(tasks(storm.episodes), web, reward, Limits(tokens=200_000), tool_deadline_s=storm.tool_s)


def play(storm: Storm) -> Toll:
    """Plays a storm in this process."""
    folder = Path(storm.folder)
    folder.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(filename=folder / LOG, level=logging.DEBUG, force=True)
    files, start = _files(), time.monotonic()
    most = {"files": files, "threads": 1}
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_TICK_S):
            most["files"] = max(most["files"], _files())
            most["threads"] = max(most["threads"], threading.active_count())

    watcher = threading.Thread(target=watch)
    watcher.start()
    referee = Referee()
    try:
        summary, report = _roll(storm, referee)
    finally:
        over.set()
        watcher.join()
    wall_s = time.monotonic() - start
    gc.collect()
    return Toll(
        rolled=summary.rolled,
        kept=summary.kept,
        end_reasons=dict(summary.end_reasons),
        web=report,
        judged=referee.judged,
        wall_s=round(wall_s, 1),
        peak_mb=_peak_mb(),
        files=(files, _files()),
        most_files=most["files"],
        threads=[thread.name for thread in threading.enumerate() if thread is not threading.main_thread()],
        most_threads=most["threads"],
    )


def _peak_mb() -> float:
    """Returns the most memory this process has had; `getrusage` would begin with that of the process that started it."""
    (line,) = (line for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:"))
    return round(int(line.split()[1]) / 1024, 1)


def _roll(storm: Storm, referee: Referee) -> tuple[RolloutSummary, dict[str, Any]]:
    """Rolls, and lets go of the client: what it holds open then is a leak."""
    web = recording(storm)
    summary = asyncio.run(
        rollout(
            lambda: environment(storm, web, referee),
            lambda: Wanderer(storm.queries),
            storm.task_ids,
            Path(storm.folder) / EPISODES,
            seed=storm.seed,
            concurrency=storm.concurrency,
            deadline_s=20 * storm.tool_s,
            progress=False,
        )
    )
    return summary, web.report()


def play_apart(storm: Storm, timeout_s: float) -> Toll:
    """Plays a storm in a process of its own.

    Raises:
        subprocess.TimeoutExpired: If it takes longer; the process is killed then.
        RuntimeError: If the process fails.
    """
    command = [sys.executable, "-m", "tests.web.storm", json.dumps(asdict(storm))]
    environ = {**os.environ, KEY_ENV: KEY}
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, env=environ, capture_output=True, text=True, timeout=timeout_s, check=False)
    if done.returncode:
        raise RuntimeError(f"the storm ended with code {done.returncode}: {done.stderr[-4000:]}")
    row = json.loads(done.stdout)
    return Toll(**{**row, "files": tuple(row["files"]), "noise": done.stderr})


def _files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


if __name__ == "__main__":
    # A guard that lets an address through fails here, instead of reaching something.
    with sockets_blocked(("127.0.0.1",)):
        toll = play(Storm(**json.loads(sys.argv[1])))
    sys.stdout.write(json.dumps(asdict(toll)) + "\n")
