"""Plays in workers of a Ray cluster.

Workers play and this process writes: it appends each episode as it comes back, so that whoever is killed, worker, driver or both,
the folder holds every episode that came back, once, with its pictures. What an interrupted run had not finished is rolled by the
next.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Any

from agents.executors.cluster import joined_cluster, own_cluster
from agents.executors.crew import Crew, Lost, Rules
from agents.executors.job import Job
from agents.executors.sharing import divided, summed, written_files
from agents.executors.worker import Orders, Worker
from agents.numbers import positive, whole
from wildenv.episode import Episode
from wildenv.errors import ConfigError
from wildenv.harvest import Harvest, RolloutSummary, episode_seed
from wildenv.registration import make_env
from wildenv.rollout import WildEnv
from wildenv.secrets import Secret
from wildenv.web.client import WebClient


class OnRay:
    """Plays in workers of a Ray cluster. Arguments: ``conf/executor/ray.yaml``.

    Args:
        address: Of a cluster to join; None starts one on this machine.
        workers: Processes; None is as many as there is room for.
        cpus_per_worker: CPUs that Ray counts for a worker.
        gpus_per_worker: GPUs, or the part of one, that a worker gets.
        concurrency: Episodes at once in a worker; None is the run's own ``concurrency``.
        ahead: Tasks a worker holds besides those it plays, so that it never waits for this process.
        retries: How often a task whose worker died is given to another before it is recorded as failed.
        max_restarts: Dead workers that are replaced in the whole run.
        start_s: Seconds within which one worker must be ready.
        pass_env: Names of environment variables of this process that workers of a joined cluster get.
        runtime_env: For a joined cluster, see Ray's documentation; never for keys, because it is written to disk.

    Raises:
        ConfigError: If a setting is out of range.
    """

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        cpus_per_worker: float = 1,
        gpus_per_worker: float = 0,
        concurrency: int | None = None,
        ahead: int = 1,
        retries: int = 2,
        max_restarts: int = 100,
        start_s: float = 300.0,
        pass_env: Sequence[str] = (),
        runtime_env: Mapping[str, Any] | None = None,
    ) -> None:
        whole("executor.workers", workers, none="as many as there is room for")
        _countable("executor.cpus_per_worker", cpus_per_worker)
        if gpus_per_worker != 0:
            _countable("executor.gpus_per_worker", gpus_per_worker)
        whole("executor.concurrency", concurrency, none="the run's own concurrency")
        for name, value in (("ahead", ahead), ("retries", retries), ("max_restarts", max_restarts)):
            whole(f"executor.{name}", value, least=0)
        positive("executor.start_s", start_s)
        self._address, self._workers = address, workers
        self._cpus, self._gpus = cpus_per_worker, gpus_per_worker
        self._concurrency, self._ahead = concurrency, ahead
        self._retries, self._max_restarts, self._start_s = retries, max_restarts, start_s
        self._pass_env, self._runtime_env = tuple(pass_env), dict(runtime_env or {})
        self._web: WebClient | None = None
        self._crew: Crew | None = None

    def run(self, job: Job) -> RolloutSummary:
        """Plays what the folder does not hold yet; without anything to play no cluster is started."""
        web = job.web()
        # Of this process nobody is judged and no page is read: it only writes down what came to nothing.
        recorder = make_env(**{**job.env, "tasks": job.source, "web": web, "reward": None, "reader": None})
        variables = self._variables()
        self._web = web
        harvest = Harvest(
            job.folder,
            job.task_ids,
            job.seed,
            job.name,
            web.digest,
            max_failed=job.max_failed,
            description=job.description,
        )
        try:
            if harvest.todo:
                with self._cluster(len(harvest.todo)) as ray:
                    self._play(ray, job, harvest, recorder, variables)
        finally:
            harvest.close()
        return harvest.summary

    def report(self) -> dict[str, Any] | None:
        """Returns what all webs were asked for; of a worker that died, up to its last finished episode."""
        if self._web is None:
            return None
        return summed([self._web.report(), *(() if self._crew is None else self._crew.reports())])

    def _cluster(self, tasks: int) -> AbstractContextManager[ModuleType]:
        if self._address is not None:
            return joined_cluster(self._address, self._runtime_env)
        if self._workers is None:
            return own_cluster(max(_cores(), math.ceil(self._cpus)), self._gpus)
        workers = min(tasks, self._workers)
        return own_cluster(math.ceil(workers * self._cpus), workers * self._gpus)

    def _play(self, ray: ModuleType, job: Job, harvest: Harvest, recorder: WildEnv, variables: Mapping[str, str]) -> None:
        one_place(ray, job)
        workers = min(len(harvest.todo), self._workers or self._room(ray.cluster_resources()))
        concurrency = self._concurrency or job.concurrency
        shares = {"agent": divided(job.agent, workers), "env": divided(job.env, workers)}
        place = None if "working_dir" in self._runtime_env else str(Path.cwd())
        # "" stands for the working directory, which the worker has as well.
        search_path = tuple(str(Path(path).resolve()) for path in sys.path if path)
        orders = Orders(
            **shares,
            tasks=job.tasks,
            seed=job.seed,
            deadline_s=job.deadline_s,
            place=place,
            search_path=search_path if place else (),
            variables=variables,
        )
        actor = ray.remote(
            num_cpus=self._cpus,
            num_gpus=self._gpus,
            max_concurrency=concurrency,
            # A dead worker is replaced and its tasks are given away by the crew, which tells which task is to blame.
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )(Worker)

        def hire() -> tuple[Any, Any]:
            made = actor.remote()
            return made, made.open.remote(orders)

        rules = Rules(workers, concurrency + self._ahead, self._retries, self._max_restarts, self._start_s)
        self._crew = Crew(ray, hire, harvest.web, rules)
        for settled in self._crew.play(harvest.todo):
            if isinstance(settled, Lost):
                episode, store = _lost(recorder, settled, job), recorder.store
            else:
                episode, store = settled.read()
            harvest.write(episode, store)
            harvest.count(episode)

    def _room(self, resources: Mapping[str, float]) -> int:
        room = int(resources.get("CPU", 0) // self._cpus)
        if self._gpus:
            room = min(room, int(resources.get("GPU", 0) // self._gpus))
        return max(1, room)

    def _variables(self) -> dict[str, str]:
        missing = [name for name in self._pass_env if name not in os.environ]
        if missing:
            raise ConfigError(f"executor.pass_env names {missing[0]}, which is not set; export it, or leave it out")
        # Made secrets, so that they are kept out of whatever is logged here.
        return {name: Secret(os.environ[name]).reveal() for name in self._pass_env}


def one_place(ray: ModuleType, job: Job) -> None:
    """Refuses several machines that would write one SQLite file.

    Raises:
        ConfigError: Naming the setting.
    """
    machines = {node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
    files = written_files({"env": job.env, "agent": job.agent})
    if len(machines) > 1 and files:
        name, path = next(iter(files.items()))
        raise ConfigError(
            f"{name}={path} is written by every worker, and the cluster has {len(machines)} machines: SQLite cannot share a file "
            "among them. Record on one machine (executor=local, or executor.address=null) and replay the pack, or set it to null"
        )


def _countable(name: str, value: Any) -> None:
    positive(name, value)
    if value > 1 and value != int(value):
        raise ConfigError(f"{name}={value!r}: Ray counts parts of one, but above 1 only whole ones")


def _cores() -> int:
    """CPUs that this process may use; a container or a scheduler may give less than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _lost(recorder: WildEnv, lost: Lost, job: Job) -> Episode:
    recorder.reset(seed=episode_seed(job.seed, lost.task_id), options={"task_id": lost.task_id, "policy": job.name})
    recorder.fail("worker", lost.reason)
    return recorder.episode
