"""The episodes of one run on their way into a folder: what is there already, what is still to be played, and how it goes.

Whoever plays them, in this process or in others, hands each over once it has ended. Holds no lock: see `wildenv.lock`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wildenv.episode import INFRASTRUCTURE, ROWS, Episode, EpisodeWriter, read_episodes
from wildenv.errors import ConfigError, InfrastructureError
from wildenv.images import ImageStore
from wildenv.progress import progress_bar

_LOOKED_AT = 20


@dataclass(slots=True)
class RolloutSummary:
    """What a rollout did.

    Attributes:
        rolled: Episodes played now.
        kept: Episodes found finished and kept.
        end_reasons: How the played ones ended.
        failures: Task id and reason of each that failed.
    """

    rolled: int = 0
    kept: int = 0
    end_reasons: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[str, str]] = field(default_factory=list)


def episode_seed(seed: int, task_id: str) -> int:
    """Returns the seed of a task's episode: the same for the same run seed and task, whatever else is rolled."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{task_id}".encode()).digest()[:4], "big")


class Harvest:
    """Takes the episodes of a run in.

    Args:
        folder: Where they go.
        task_ids: What is to be played; one that is named twice is played once.
        seed: Seed of the run.
        name: Name of the policy in the records.
        web: Digest of the web they are played in.
        max_failed: Share of failed episodes above which `count` stops the run, looked at from the twentieth episode on.
        resume: Keep what the folder holds already; without it the folder must be empty.
        progress: Whether to say how far it is, on standard error.
        description: Its label.

    Attributes:
        web: Digest of the web.
        todo: The tasks that the folder holds no finished episode of.
        summary: What was done so far.

    Raises:
        ConfigError: If the folder cannot be written, it holds episodes and `resume` is off, or it holds episodes of another
            policy or web.
    """

    def __init__(
        self,
        folder: Path,
        task_ids: Sequence[str],
        seed: int,
        name: str,
        web: str,
        *,
        max_failed: float | None,
        resume: bool = True,
        progress: bool = True,
        description: str = "episodes",
    ) -> None:
        self.web = web
        self._writer = EpisodeWriter(folder)
        self._max_failed = max_failed
        done = _finished(folder, resume, name, web)
        wanted = list(dict.fromkeys(task_ids))
        self.todo = [task_id for task_id in wanted if (task_id, episode_seed(seed, task_id)) not in done]
        self.summary = RolloutSummary(kept=len(wanted) - len(self.todo))
        self._bar = progress_bar(description, len(wanted), "ep", done=self.summary.kept, hidden=not progress)

    def write(self, episode: Episode, store: ImageStore) -> None:
        """Appends an episode, with its pictures from `store`; one at a time. Errors as in `EpisodeWriter.append`."""
        self._writer.append(episode, store)

    def count(self, episode: Episode) -> None:
        """Counts an episode that was written.

        Raises:
            InfrastructureError: If more than `max_failed` of the episodes failed; the message gives the last reason.
        """
        summary = self.summary
        summary.rolled += 1
        summary.end_reasons[episode.end_reason] += 1
        if episode.failure is not None:
            summary.failures.append((episode.task_id, f"{episode.end_reason}: {episode.failure}"))
            failed, most = len(summary.failures), self._max_failed
            if most is not None and summary.rolled >= _LOOKED_AT and failed > most * summary.rolled:
                raise InfrastructureError(
                    f"{failed} of {summary.rolled} episodes failed, more than max_failed={most}; the last: "
                    f"{summary.failures[-1][1]}"
                )
        self._bar.update()

    def close(self) -> None:
        """Closes the bar."""
        self._bar.close()


def _finished(folder: Path, resume: bool, name: str, web: str) -> set[tuple[str, int]]:
    if not (folder / ROWS).exists():
        return set()
    done = set()
    for episode in read_episodes(folder):
        if not resume:
            raise ConfigError(f"{folder} holds episodes already; set resume=true or name another folder")
        if (episode.policy, episode.web) != (name, web):
            raise ConfigError(
                f"{folder} holds episodes of policy {episode.policy!r} in web {episode.web[:12]}; "
                f"this run is of policy {name!r} in web {web[:12]}: name another folder"
            )
        if episode.end_reason not in INFRASTRUCTURE:
            done.add((episode.task_id, episode.seed))
    return done
