"""What checks look at: the config, and what can be had of tasks, environment and model without weights.

Each is made when a check first asks for it and kept. What cannot be had raises `Unknown` for every check that needs it; the check
of the thing itself says what is wrong. Weights are never read: a model is built on torch's meta device, where it has names and
shapes only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import torch
from huggingface_hub import try_to_load_from_cache
from huggingface_hub.constants import CONFIG_NAME, ENDPOINT, is_offline_mode
from transformers import PretrainedConfig

from agents import checkpoint
from agents.encode import TrajectoryEncoder
from agents.maker import make_policy
from agents.processor import limit_pixels
from agents.prompts import load_prompt
from agents.runs import Config
from trainers.checks.finding import Spared, Unknown
from trainers.launch import ranks
from trainers.nano import nano_config, nano_processor
from wildenv.budget import Limits
from wildenv.construct import construct
from wildenv.errors import ConfigError
from wildenv.images import PixelPolicy
from wildenv.messages import Message, text_block
from wildenv.registration import make_tasks
from wildenv.task import TaskSource
from wildenv.tools.answer import answer_schema
from wildenv.tools.crop_image import CropImage
from wildenv.tools.image_search import ImageSearch
from wildenv.tools.text_search import TextSearch
from wildenv.tools.web_fetch import WebFetch

GRPO, SFT = "grpo", "sft"
_PROMPTS = 200
"""Tasks whose prompts a tokenizer is made of."""
_REPEATS = 3
_HUB_S = 3.0
"""Seconds in which the hub must answer."""


@dataclass(frozen=True, slots=True)
class Known:
    """A model without its weights.

    Attributes:
        config: The architecture.
        encoder: Turns chats into its inputs.
        throwaway: Whether tokenizer and sizes of the vocabulary are stand-ins for those that the run will make.
    """

    config: PretrainedConfig
    encoder: TrajectoryEncoder
    throwaway: bool = False


class Subject:
    """A run to be checked.

    Args:
        config: ``conf/grpo.yaml`` or ``conf/sft.yaml`` as plain values.
        kind: ``grpo`` or ``sft``.
        folder: The run directory; need not exist.
    """

    def __init__(self, config: Config, kind: str, folder: Path) -> None:
        self.config = config
        self.kind = kind
        self.folder = folder
        self.trainer: Config = config["trainer"]
        self.model: Config = config["model"]
        self.env: Config = config["env"]

    @property
    def ranks(self) -> int:
        """Ranks of the run: the launcher's, else ``launch.processes``."""
        return ranks() if "WORLD_SIZE" in os.environ else int(self.config["launch"]["processes"])

    @property
    def here(self) -> bool:
        """Whether this machine trains; another one does after ``launch.freeze_only``."""
        return not self.config["launch"].get("freeze_only", False)

    def must_train_here(self) -> None:
        """Ends a check of this machine if another one trains.

        Raises:
            Unknown: If so.
        """
        if not self.here:
            raise Unknown("launch.freeze_only=true: another machine trains")

    @property
    def zero_stage(self) -> int:
        """DeepSpeed's stage; 0 without DeepSpeed."""
        settings = self.config["deepspeed"]["config"]
        return 0 if settings is None else int(settings.get("zero_optimization", {}).get("stage", 0))

    @property
    def trained_on_cpu(self) -> bool:
        """Whether this run is told, or has no choice but, to train on the CPU."""
        return not torch.cuda.is_available() or os.environ.get("DS_ACCELERATOR") == "cpu"

    @property
    def plays(self) -> bool:
        """Whether episodes are played in this run: always under GRPO, before SFT if there are no rows yet."""
        return self.kind == GRPO or (self.config["data"]["source"] == "episodes" and self.config["data"]["path"] is None)

    def must_play(self) -> None:
        """Spares a check if no episode is played.

        Raises:
            Spared: If so.
        """
        if not self.plays:
            raise Spared("no episode is played: the rows are there already")

    @property
    def reward_fields(self) -> Config:
        """The fields of the reward, judge and generator among them.

        Raises:
            Spared: If there is no reward, or one without them.
        """
        reward = self.env["reward"]
        if not isinstance(reward, dict) or "_target_" in reward:
            raise Spared("the reward is null or a class of its own, which has no judge and no generator of ours")
        return {"judge": "oracle", "generator": None, **reward}

    @property
    def task_settings(self) -> Config:
        """The part of the config that has ``tasks`` and ``limit``."""
        return self.config if self.kind == GRPO else self.config["collect"]

    @property
    def task_setting(self) -> str:
        """Where `task_settings` stands, for messages."""
        return "" if self.kind == GRPO else "collect."

    @cached_property
    def limits(self) -> Limits:
        """The budget of an episode; raises `ConfigError` if a limit is out of range."""
        limits: Limits = construct(Limits, "env.limits", self.env.get("limits"))
        return limits

    @cached_property
    def pixels(self) -> PixelPolicy:
        """The pixel policy of the model; raises `ConfigError` if it cannot hold one cell."""
        return PixelPolicy(self.model["pixels"]["max_pixels"], self.model["pixels"]["multiple"])

    def open_tasks(self) -> TaskSource:
        """Opens the tasks; raises a `WildenvError` if they cannot be."""
        return make_tasks(self.task_settings["tasks"], self.env.get("world"))

    @cached_property
    def tasks(self) -> TaskSource:
        """The tasks.

        Raises:
            Unknown: If they cannot be opened.
        """
        try:
            found = self.open_tasks()
        except (ConfigError, OSError, ValueError) as error:
            raise Unknown(f"the tasks of {self.task_setting}tasks cannot be opened") from error
        if not len(found):
            raise Unknown(f"{self.task_setting}tasks holds no task")
        return found

    @property
    def task_count(self) -> int:
        """Tasks that the run uses."""
        limit = self.task_settings["limit"]
        return len(self.tasks) if limit is None else min(limit, len(self.tasks))

    @cached_property
    def system_prompt(self) -> str:
        """First message of every chat; raises `ConfigError` if it cannot be had."""
        if self.kind == SFT:
            return str(getattr(make_policy(self.config["agent"])(), "system_prompt", None) or load_prompt("lci"))
        # Brings TRL along.
        from trainers.rl.system_prompt import system_prompt

        return system_prompt(self.config)

    @cached_property
    def tools(self) -> list[dict[str, Any]]:
        """Schemas of the tools, as an environment of this run shows them."""
        made = (TextSearch(), WebFetch(), ImageSearch(show_url=self.env.get("show_image_urls", True)), CropImage())
        return [*(tool.schema() for tool in made), answer_schema()]

    def prompts(self) -> Iterator[str]:
        """Yields what the first tasks ask for; raises `Unknown` without tasks."""
        return (self.tasks[index].prompt for index in range(min(_PROMPTS, self.task_count)))

    def opening(self) -> list[Message]:
        """Returns a chat as the model is first shown it, with the longest request of all tasks."""
        request = max((self.tasks[index].prompt for index in range(self.task_count)), key=len)
        return [
            {"role": "system", "content": [text_block(self.system_prompt)]},
            {"role": "user", "content": [text_block(request)]},
        ]

    @property
    def unbuilt(self) -> bool:
        """Whether the model is one that the run will build."""
        return self.model["kind"] == "nano" and self.model["path"] is None

    def open_model(self) -> Known:
        """Opens the model without weights; its pixel limits are its own.

        Raises:
            ConfigError: If it cannot be opened.
        """
        if self.unbuilt:
            return self._nano()
        if not checkpoint.is_local(self.model["path"]):
            _must_reach(self.model["path"])
        found = checkpoint.describe(
            self.model["path"], chat_template=self.model.get("chat_template"), gguf_file=self.model.get("gguf_file")
        )
        return Known(found.config, found.encoder)

    @cached_property
    def opened(self) -> Known | ConfigError:
        """The model, or why it cannot be opened."""
        try:
            return self.open_model()
        except ConfigError as error:
            return error

    @property
    def elsewhere(self) -> bool:
        """Whether the model is on a hub that cannot be reached from here."""
        return isinstance(self.opened, checkpoint.Unopened) and not checkpoint.is_local(self.model["path"])

    @cached_property
    def known(self) -> Known:
        """The model.

        Raises:
            Unknown: If it cannot be opened.
        """
        if isinstance(self.opened, ConfigError):
            raise Unknown(f"nothing of {self.model['path'] or self.model['name']} but its name can be read here")
        return self.opened

    @cached_property
    def fitted(self) -> Known:
        """The model with the run's pixel policy, as it will be trained.

        Raises:
            Unknown: If the model cannot be opened or the policy does not fit it.
        """
        known = self.known
        if known.encoder.vision:
            try:
                limit_pixels(known.encoder.image_processor, self.pixels)
            except ConfigError as error:
                raise Unknown("the pixel policy does not fit the model") from error
        return known

    @property
    def sees(self) -> bool:
        """Whether the model takes pictures, by its config.json where there is one, else by ``model.vision``."""
        return bool(self.model["vision"]) if isinstance(self.opened, ConfigError) else self.opened.encoder.vision

    @cached_property
    def skeleton(self) -> torch.nn.Module:
        """The model without weights, on the meta device.

        Raises:
            Unknown: If its config.json cannot be had.
        """
        config = self.known.config
        with torch.device("meta"):
            model: torch.nn.Module = checkpoint.loader(config).from_config(config)
        return model

    @cached_property
    def parameters(self) -> int:
        """Weights of the model, tied ones once; raises `Unknown` without a config.json."""
        return sum(parameter.numel() for parameter in self.skeleton.parameters())

    def _nano(self) -> Known:
        corpus = [load_prompt("lci"), *islice(self._corpus(), _PROMPTS)]
        processor = nano_processor(self.model, corpus * _REPEATS)
        return Known(nano_config(self.model, processor.tokenizer), TrajectoryEncoder(processor), throwaway=True)

    def _corpus(self) -> Iterator[str]:
        try:
            yield from self.prompts() if self.plays else ()
        except Unknown:
            # The check of the tasks says so; a tokenizer of other texts does for the rest.
            return


def _must_reach(path: str) -> None:
    """Ends the opening of a hub id that is neither kept nor within reach here; transformers would try for half a minute.

    Raises:
        Unopened: If so.
    """
    if checkpoint.looks_like_folder(path) or isinstance(try_to_load_from_cache(path, CONFIG_NAME), str):
        return
    reason = "HF_HUB_OFFLINE is set and the model is not in the cache"
    if not is_offline_mode():
        try:
            httpx.head(ENDPOINT, timeout=_HUB_S)
        except httpx.HTTPError as error:
            reason = f"{ENDPOINT} cannot be reached, {type(error).__name__}"
        else:
            return
    raise checkpoint.Unopened(f"the model {path!r} cannot be read here ({reason}); set model.path to a folder that holds it")
