"""Our settings of ``conf/trainer/grpo.yaml`` and ``conf/rollout`` as TRL's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trl import GRPOConfig

from agents.runs import Config
from trainers.arguments import shared_arguments
from trainers.launch import ranks
from wildenv.adapters.trl import RewardFunction
from wildenv.errors import ConfigError


def grpo_arguments(config: Config, folder: Path, rewards: Sequence[RewardFunction]) -> GRPOConfig:
    """Returns TRL's arguments.

    Args:
        config: The whole config.
        folder: The run directory.
        rewards: Their weights.

    Raises:
        ConfigError: If the rollouts of an update are not a whole number of micro-batches over the ranks, or a value is unknown.
    """
    settings, rollout = config["trainer"], config["rollout"]
    return GRPOConfig(
        **shared_arguments(config, folder),
        gradient_accumulation_steps=passes_per_update(settings),
        num_generations=settings["group"],
        num_iterations=settings["passes"],
        epsilon=settings["clip_low"],
        epsilon_high=settings["clip_high"],
        beta=settings["kl"],
        loss_type=settings["loss"],
        scale_rewards=settings["scale_rewards"],
        reward_weights=[one.weight for one in rewards],
        temperature=rollout["temperature"],
        top_p=rollout["top_p"],
        # Of all turns and replies; the roller keeps to it, TRL's own loop does not run.
        max_completion_length=settings["max_length"],
        # Truncated rollouts are masked by what truncated means for an episode; see trainers.rl.trace.
        mask_truncated_completions=False,
        save_steps=settings["save_steps"],
        log_completions=False,
        # TRL gathers pictures for a table of its own, and hangs where one rank has none; ours is trainers.trajectories.
        log_multimodal=False,
        ds3_gather_for_generation=True,
        dataloader_num_workers=0,
        **_backend(config),
    )


def passes_per_update(settings: Config) -> int:
    """Returns the micro-batches that one rank computes for an update.

    Raises:
        ConfigError: If they are not a whole number.
    """
    rollouts, per_pass = settings["group"] * settings["prompts"], settings["micro_batch"] * ranks()
    if rollouts % per_pass:
        raise ConfigError(
            f"trainer.group={settings['group']} x trainer.prompts={settings['prompts']} = {rollouts} rollouts are not a multiple "
            f"of trainer.micro_batch={settings['micro_batch']} x {ranks()} ranks; change one of them"
        )
    return int(rollouts // per_pass)


def _backend(config: Config) -> dict[str, Any]:
    rollout = config["rollout"]
    if rollout["backend"] == "transformers":
        return {}
    if rollout["backend"] != "vllm" or rollout["mode"] not in ("colocate", "server"):
        raise ConfigError(
            f"rollout.backend={rollout['backend']!r}: choose rollout=transformers, rollout=vllm_colocate or rollout=vllm_server"
        )
    shared = {
        "use_vllm": True,
        "vllm_mode": rollout["mode"],
        "vllm_max_model_length": config["trainer"]["max_length"],
        # Of one turn.
        "generation_kwargs": {"max_tokens": rollout["max_new_tokens"]},
    }
    if rollout["mode"] == "server":
        return {**shared, "vllm_server_base_url": rollout["url"], "vllm_server_timeout": rollout["timeout_s"]}
    return {
        **shared,
        "vllm_gpu_memory_utilization": rollout["gpu_memory_utilization"],
        "vllm_tensor_parallel_size": rollout["tensor_parallel_size"],
    }
