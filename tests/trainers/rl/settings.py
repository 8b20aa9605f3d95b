"""Configs of tiny GRPO runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
PIXELS = {"max_pixels": 3136, "multiple": 28}
WORLD = {"events": 120}


def env_settings() -> dict[str, Any]:
    """Three tool calls, three pictures a search."""
    return {
        "web": "miniweb",
        "world": WORLD,
        "undated": "keep",
        "pixels": PIXELS,
        "show_image_urls": False,
        "reader": None,
        "tool_deadline_s": 60,
        "limits": {"tool_calls": 3, "spare_turns": 1, "images_per_search": 3, "images": 8, "references": 3, "tokens": 4000}
        | {"chars_per_result": 2000},
    }


def grpo_config(model: Path, **trainer: Any) -> dict[str, Any]:
    """Two tasks of four rollouts an update, rewarded for crops."""
    settings = yaml.safe_load((ROOT / "conf/trainer/grpo.yaml").read_text(encoding="utf-8"))
    settings |= {"group": 4, "prompts": 2, "micro_batch": 4, "max_steps": 2, "max_length": 1200, "learning_rate": 2e-4}
    settings |= {"precision": "float32", "gradient_checkpointing": False, "save_steps": 100, "keep_rollouts": 2}
    settings["alarms"] = {**settings["alarms"], **trainer.pop("alarms", {})}
    rollout = yaml.safe_load((ROOT / "conf/rollout/transformers.yaml").read_text(encoding="utf-8"))
    reward = {"_target_": "tests.trainers.rl.coin.CropReward"}
    return {
        "task": "grpo",
        "seed": 0,
        "tasks": "miniweb:train",
        "limit": None,
        "system_prompt": "Find it.",
        "warm_start": {"steps": 1, "tasks": 1},
        "env": {**env_settings(), "reward": reward},
        "model": {"name": "nano", "kind": "nano", "path": str(model), "dtype": "float32", "vision": True, "pixels": PIXELS},
        "trainer": settings | trainer,
        "rollout": rollout | {"max_new_tokens": 64, "temperature": 0.7},
        "deepspeed": {"config": None},
        "logger": {"enabled": False},
        "launch": {"processes": 1, "freeze_only": False},
    }
