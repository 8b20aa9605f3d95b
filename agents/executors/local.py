"""Plays in this process."""

from __future__ import annotations

import asyncio
from typing import Any

from agents.executors.job import Job, Parts
from wildenv.rollout import RolloutSummary, rollout
from wildenv.web.client import WebClient


class Local:
    """Plays in this process, many episodes at once."""

    def __init__(self) -> None:
        self._web: WebClient | None = None

    def run(self, job: Job) -> RolloutSummary:
        """Plays what the folder does not hold yet."""
        web = job.web()
        parts = Parts.of(job.agent, job.env, job.tasks, job.source, web)
        self._web = web
        return asyncio.run(
            rollout(
                parts.make_env,
                parts.make_policy,
                job.task_ids,
                job.folder,
                seed=job.seed,
                concurrency=job.concurrency,
                deadline_s=job.deadline_s,
                max_failed=job.max_failed,
                name=job.name,
                description=job.description,
            )
        )

    def report(self) -> dict[str, Any] | None:
        """Returns what the web was asked for."""
        return None if self._web is None else self._web.report()
