"""Makes the trainer of a run from its config: the model, the environments, the rewards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agents import checkpoint
from agents.checkpoint import Loaded
from agents.rewarder import open_reward
from agents.runs import Config
from trainers.arguments import lora, must_use_deepspeed
from trainers.rl.adapter import open_adapter
from trainers.rl.arguments import grpo_arguments
from trainers.rl.dataset import task_rows
from trainers.rl.generation import InProcess
from trainers.rl.response import let_read
from trainers.rl.rollout import Limits
from trainers.rl.system_prompt import system_prompt
from trainers.rl.trainer import Masks, RolloutTrainer
from wildenv.adapters.trl import environments, reward_functions
from wildenv.errors import ConfigError
from wildenv.registration import make_env, make_reader, make_tasks, make_web


@dataclass(frozen=True, slots=True)
class Opened:
    """A trainer that has not trained yet.

    Attributes:
        trainer: The trainer; `RolloutTrainer.watch` and its callbacks are the caller's to set.
        loaded: The model and what turns chats into its inputs.
    """

    trainer: RolloutTrainer
    loaded: Loaded


def open_trainer(config: Config, folder: Path) -> Opened:
    """Makes the trainer.

    Args:
        config: ``conf/grpo.yaml`` as plain values, with a ``model.path``.
        folder: The run directory.

    Raises:
        ConfigError: Naming the setting that is wrong.
    """
    settings, rollout, env = config["trainer"], config["rollout"], config["env"]
    tasks = make_tasks(config["tasks"], env["world"])
    reward = open_reward(env, config["tasks"])
    if reward is None:
        raise ConfigError("env.reward=null: there is nothing to learn from; choose reward=dual or another of conf/reward")
    rewards = reward_functions(reward, settings["judge_concurrency"])
    # Before the model: under ZeRO-3 its weights are partitioned as they are created.
    arguments = grpo_arguments(config, folder, rewards)
    loaded = checkpoint.from_config(config["model"])
    let_read(loaded.tokenizer)
    if settings["adapter"] is not None and settings["peft"] != "lora":
        raise ConfigError(f"trainer.adapter={settings['adapter']} is a LoRA adapter; set trainer.peft=lora with it")
    # Web, tasks and reader are shared: they count requests, or hold connections.
    shared = {
        "tasks": tasks,
        "web": make_web(env["web"], env["world"], env["undated"]),
        "reader": make_reader(env["reader"]),
        "reward": None,
    }
    drawing = (rollout["max_new_tokens"], rollout["temperature"], rollout["top_p"])
    trainer = RolloutTrainer(
        encoder=loaded.encoder,
        generate=InProcess(loaded.encoder, *drawing) if rollout["backend"] == "transformers" else None,
        limits=Limits(settings["max_length"], rollout["max_new_tokens"], rollout["deadline_s"], rollout["concurrency"]),
        rewards=rewards,
        masks=Masks(settings["mask_truncated"], settings["mask_repeated"], settings["min_valid"], settings["alarms"]["patience"]),
        dummy_image=settings["dummy_image"],
        model=loaded.model if settings["adapter"] is None else open_adapter(loaded.model, settings["adapter"]),
        args=arguments,
        train_dataset=task_rows(tasks, config["limit"], system_prompt(config)),
        processing_class=loaded.processor or loaded.tokenizer,
        environment_factory=environments(partial(make_env, **{**env, **shared})),
        peft_config=None if settings["adapter"] is not None else lora(settings),
    )
    must_use_deepspeed(config, trainer.is_deepspeed_enabled)
    return Opened(trainer, loaded)
