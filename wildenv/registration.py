"""Gymnasium ids, and the one place where short names become tasks, webs and judges.

``gymnasium.make("wildenv/Savanna-v0", tasks="miniweb:train", web="miniweb")`` works after ``import wildenv``, or as
``"wildenv:wildenv/Savanna-v0"``. A change that moves scores raises the version of the id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import gymnasium

from wildenv.budget import Limits
from wildenv.construct import construct
from wildenv.env import SYSTEM_PROMPT, WildEnv
from wildenv.errors import ConfigError
from wildenv.folders import make_folder
from wildenv.images import ImageStore, PixelPolicy
from wildenv.judges.base import Truth
from wildenv.judges.oracle import OracleJudge
from wildenv.judges.truth import FolderTruth
from wildenv.miniweb.cache import load_world
from wildenv.miniweb.config import WorldConfig
from wildenv.miniweb.provider import MiniwebProvider
from wildenv.miniweb.truth import WorldTruth
from wildenv.miniweb.world import MiniWorld
from wildenv.models.chat import ChatModel
from wildenv.models.page_reader import PageReader
from wildenv.rewards.base import Reward
from wildenv.rewards.search import SearchReward
from wildenv.rewards.settings import RewardSettings
from wildenv.rewards.settings import make_reward as combined
from wildenv.task import TaskList, TaskSource, load_jsonl
from wildenv.tools.base import Tool
from wildenv.tools.crop_image import CropImage
from wildenv.tools.image_search import ImageSearch
from wildenv.tools.text_search import TextSearch
from wildenv.tools.web_fetch import WebFetch
from wildenv.web.client import WebClient
from wildenv.web.providers.base import Reader
from wildenv.web.settings import WebSettings, make_client

ENV_ID = "wildenv/Savanna-v0"
MINIWEB = "miniweb"
ORACLE = "oracle"
TRUTH = "images"
"""The folder of ground-truth pictures beside a task file."""


@lru_cache(maxsize=2)
def miniworld(config: WorldConfig) -> MiniWorld:
    """Returns the miniweb of a config; loaded once a process."""
    return load_world(config, progress=True)


def world_config(world: WorldConfig | Mapping[str, Any] | None) -> WorldConfig:
    """Returns a miniweb's config from its fields; None is the default.

    Raises:
        ConfigError: If a field is unknown.
    """
    config: WorldConfig = world if isinstance(world, WorldConfig) else construct(WorldConfig, "world", world)
    return config


def make_tasks(tasks: str | TaskSource, world: WorldConfig | Mapping[str, Any] | None = None) -> TaskSource:
    """Resolves a task source.

    Args:
        tasks: ``"miniweb:train"``, ``"miniweb:validation"``, ``"miniweb:test"``, the path of a JSONL file, or a source as it is.
        world: The config of the miniweb the tasks are of, or its fields.

    Raises:
        ConfigError: If the name is none of these.
    """
    if not isinstance(tasks, str):
        return tasks
    kind, _, split = tasks.partition(":")
    if kind == MINIWEB:
        return miniworld(world_config(world)).tasks(split)
    if tasks.endswith(".jsonl"):
        return load_jsonl(tasks)
    raise ConfigError(f"tasks={tasks!r}: give 'miniweb:train', 'miniweb:validation', 'miniweb:test' or the path of a .jsonl file")


def make_web(
    web: str | Mapping[str, Any] | WebClient,
    world: WorldConfig | Mapping[str, Any] | None = None,
    undated: str = "keep",
) -> WebClient:
    """Resolves a web.

    Args:
        web: ``"miniweb"``; the path of a pack or store to replay, or ``hf://datasets/OWNER/NAME``; the fields of
            `wildenv.web.settings.WebSettings`; or a client as it is.
        world: The miniweb's config, or its fields.
        undated: What the date cutoff does with undated results, ``"keep"`` or ``"drop"``.

    Raises:
        ConfigError: If it is none of these, naming the setting.
    """
    if isinstance(web, WebClient):
        return web
    if web == MINIWEB:
        web = {"mode": "live", "search": MINIWEB, "pages": MINIWEB, "pictures": MINIWEB}
    elif isinstance(web, str):
        if not (web.startswith("hf://") or Path(web).is_file()):
            raise ConfigError(f"web={web!r}: give 'miniweb', the path of an existing pack or store, or hf://datasets/OWNER/NAME")
        web = {"mode": "replay", "store": web}
    config = world_config(world)
    return make_client(WebSettings.of(web), undated, {MINIWEB: lambda: MiniwebProvider(miniworld(config))})


def make_reward(
    reward: str | Reward | Mapping[str, Any] | None,
    tasks: str | TaskSource,
    world: WorldConfig | Mapping[str, Any] | None = None,
    limits: Limits | Mapping[str, Any] | None = None,
) -> Reward | None:
    """Resolves a reward. Make it once and give it to all environments: its judges and its generator may be large.

    Args:
        reward: ``"oracle"`` (the search reward by the miniweb's own judge); the fields of
            `wildenv.rewards.settings.RewardSettings`; a reward as it is; or None (no reward is valid).
        tasks: As in `make_tasks`. The ground truth of a task file lies in the folder ``images`` beside it.
        world: The miniweb's config, or its fields.
        limits: The budget of the episodes, or its fields.

    Raises:
        ConfigError: Naming the setting that is wrong.
    """
    config = world_config(world)
    if reward == ORACLE:
        return SearchReward(OracleJudge(miniworld(config)))
    if isinstance(reward, str):
        raise ConfigError(f"reward={reward!r}: give 'oracle', the fields of a reward, null or a reward object")
    if not isinstance(reward, Mapping):
        return reward
    settings = RewardSettings.of(reward)
    provenance = miniworld(config) if settings.judge_kind == ORACLE else None
    budget = limits if isinstance(limits, Limits) else construct(Limits, "limits", limits)
    return combined(settings, _truth(tasks, config, settings.judge_kind), provenance, budget)


def make_env(
    tasks: str | TaskSource = "miniweb:train",
    web: str | Mapping[str, Any] | WebClient = MINIWEB,
    reward: str | Reward | Mapping[str, Any] | None = ORACLE,
    world: WorldConfig | Mapping[str, Any] | None = None,
    limits: Limits | Mapping[str, Any] | None = None,
    pixels: PixelPolicy | Mapping[str, Any] | None = None,
    undated: str = "keep",
    show_image_urls: bool = True,
    reader: Mapping[str, Any] | Reader | None = None,
    image_dir: str | Path | None = None,
    system_prompt: str = SYSTEM_PROMPT,
    tool_deadline_s: float | None = 60.0,
    render_mode: str | None = None,
) -> WildEnv:
    """Makes an environment from plain values; what the Gymnasium id and the Hydra config call.

    Args:
        tasks: See `make_tasks`.
        web: See `make_web`.
        reward: See `make_reward`.
        world: The miniweb's config, or its fields.
        limits: The budget, or its fields.
        pixels: The pixel policy, or its fields.
        undated: What the date cutoff does with undated results.
        show_image_urls: Whether ``image_search`` shows the address of each picture beside its page.
        reader: A chat model that answers ``web_fetch`` from the page: the arguments of `wildenv.models.chat.ChatModel`, with
            ``max_chars`` of a page; or a reader as it is. None returns the passages that fit the prompt.
        image_dir: A folder for pixels; in memory, for one episode at a time, if None.
        system_prompt: First message of the chat.
        tool_deadline_s: Seconds of wall clock that one tool call may wait for the web; None sets no limit.
        render_mode: ``"ansi"`` or None.

    Raises:
        ConfigError: Naming the setting that is wrong.
    """
    config = world_config(world)
    budget = limits if isinstance(limits, Limits) else construct(Limits, "limits", limits)
    if image_dir is not None:
        make_folder(Path(image_dir), "image_dir")
    tools: list[Tool] = [TextSearch(), WebFetch(reader=make_reader(reader)), ImageSearch(show_url=show_image_urls), CropImage()]
    return WildEnv(
        tasks=make_tasks(tasks, config),
        web=make_web(web, config, undated),
        reward=make_reward(reward, tasks, config, budget),
        limits=budget,
        pixels=pixels if isinstance(pixels, PixelPolicy) else construct(PixelPolicy, "pixels", pixels),
        tools=tools,
        store=None if image_dir is None else ImageStore(image_dir),
        system_prompt=system_prompt,
        tool_deadline_s=tool_deadline_s,
        render_mode=render_mode,
    )


def make_reader(reader: Mapping[str, Any] | Reader | None) -> Reader | None:
    """Resolves ``env.reader``; raises `ConfigError` for a setting that is wrong."""
    if reader is None or not isinstance(reader, Mapping):
        return reader
    values = dict(reader)
    max_chars = values.pop("max_chars", None)
    model = ChatModel.from_config(values, setting="env.reader")
    return PageReader(model) if max_chars is None else PageReader(model, max_chars)


def make_vec(num_envs: int, mode: str = "sync", **kwargs: Any) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Makes a vector of environments; asynchronous ones without shared memory, which chats do not survive.

    Args:
        num_envs: How many.
        **kwargs: For `make_env`.
        mode: ``"sync"`` or ``"async"``.

    Raises:
        ConfigError: If the mode is unknown or there is to be none.
    """
    if num_envs < 1:
        raise ConfigError(f"num_envs={num_envs} must be at least 1")
    makers: list[Callable[[], gymnasium.Env[Any, Any]]] = [partial(make_env, **kwargs) for _ in range(num_envs)]
    if mode == "sync":
        return gymnasium.vector.SyncVectorEnv(makers)
    if mode == "async":
        return gymnasium.vector.AsyncVectorEnv(makers, shared_memory=False)
    raise ConfigError(f"mode={mode!r}: give 'sync' or 'async'")


def register() -> None:
    """Registers the ids with Gymnasium."""
    gymnasium.register(ENV_ID, entry_point="wildenv.registration:make_env", disable_env_checker=False, order_enforce=True)


def _truth(tasks: str | TaskSource, config: WorldConfig, kind: str) -> Truth:
    name = tasks if isinstance(tasks, str) else tasks.name if isinstance(tasks, TaskList) else ""
    if kind == ORACLE or name.startswith(f"{MINIWEB}:"):
        return WorldTruth(miniworld(config))
    if name.endswith(".jsonl"):
        return FolderTruth(Path(name).parent / TRUTH)
    raise ConfigError(f"judge={kind} needs ground truth, which is known of miniweb tasks and of a .jsonl file; give one as tasks")
