from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hydra
import pytest
import yaml
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from agents.runs import fix_spelling, freeze, plain, plain_errors, read_frozen
from trainers.scale import scale_changes
from trainers.settings import check_settings
from wildenv.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _hydra() -> Iterator[None]:
    GlobalHydra.instance().clear()
    with hydra.initialize_config_dir(version_base="1.3", config_dir=str(ROOT / "conf")):
        yield
    HydraConfig.instance().cfg = None


def compose(*overrides: str, name: str = "sft") -> dict[str, Any]:
    config: DictConfig = hydra.compose(name, overrides=fix_spelling(list(overrides)), return_hydra_config=True)
    HydraConfig.instance().set_config(config)
    return plain(hydra.compose(name, overrides=fix_spelling(list(overrides))))


@pytest.mark.parametrize("spelling", ["experiment=ranger", "+experiment=ranger"])
def test_the_cluster_runs_the_paper(spelling: str) -> None:
    config = compose(spelling, "scale=cluster")
    trainer = config["trainer"]
    assert config["model"]["path"] == "Qwen/Qwen3-VL-8B-Instruct"
    assert (trainer["learning_rate"], trainer["schedule"]) == (1e-5, "cosine")
    assert (trainer["effective_batch"], trainer["max_length"]) == (32, 40960)
    assert trainer["assistant_turns"] == "all"
    assert trainer["token_weights"] == {"context": 0.0, "reasoning": 1.0, "tool_call": 1.0, "answer": 1.0}
    assert (config["env"]["limits"]["tool_calls"], config["env"]["limits"]["images_per_search"]) == (8, 5)
    assert (trainer["precision"], trainer["gradient_checkpointing"], trainer["dummy_image"]) == ("bf16", True, True)
    assert config["deepspeed"]["config"]["zero_optimization"]["stage"] == 3
    assert config["launch"]["processes"] == 8


@pytest.mark.parametrize("spelling", ["experiment=ranger", "+experiment=ranger"])
def test_the_laptop_overrides_the_recipe_and_the_command_line_overrides_both(spelling: str) -> None:
    config = compose(spelling)
    assert config["model"]["name"] == "nano"
    assert config["trainer"]["max_length"] == 12288
    assert config["trainer"]["learning_rate"] == 2e-3
    assert config["launch"]["processes"] == 1
    chosen = compose(spelling, "trainer.learning_rate=0.5", "model=smollm2_135m", "deepspeed=zero2")
    assert chosen["trainer"]["learning_rate"] == 0.5
    assert chosen["model"]["name"] == "smollm2_135m"
    assert chosen["deepspeed"]["config"]["zero_optimization"]["stage"] == 2


def test_the_changes_of_scale_are_listed() -> None:
    config = compose("experiment=ranger")
    changes = {name: (before, after) for name, before, after in scale_changes(config)}
    assert changes["trainer.learning_rate"] == (1e-5, 2e-3)
    assert changes["trainer.max_length"] == (40960, 12288)
    assert changes["model.name"] == ("qwen3_vl_8b", "nano")
    assert "trainer.schedule" not in changes
    assert "seed" not in changes


def test_a_typed_value_of_a_setting_that_the_recipes_model_lacks_is_no_change_of_scale() -> None:
    config = compose("experiment=ranger", "model.init=random", "trainer.learning_rate=0.5")
    changes = {name for name, _, _ in scale_changes(config)}
    assert "model.name" in changes
    assert not {"model.init", "trainer.learning_rate"} & changes


@pytest.mark.parametrize("group", ["agent", "data", "deepspeed", "logger", "model", "scale"])
def test_every_choice_of_a_group_composes(group: str) -> None:
    required = {"agent": ["agent._target_=my.Policy"], "data": ["data.path=somewhere"]}.get(group, [])
    for file in sorted((ROOT / "conf" / group).glob("*.yaml")):
        name = "grpo" if file.stem.endswith("_grpo") else "sft"
        config = compose(f"{group}={file.stem}", *required, name=name)
        assert config["task"] == name


@pytest.mark.parametrize("group", ["deepspeed", "experiment", "generator", "judge", "logger", "model", "reward", "rollout"])
def test_every_choice_of_a_group_composes_for_grpo(group: str) -> None:
    address = "base_url=http://127.0.0.1:1"
    required = {
        "judge=model": ["judge.model.model=NAME", f"judge.model.{address}"],
        "generator=openai": ["generator.model=NAME"],
        "reward=custom": ["reward._target_=my.module.MyReward"],
        "generator=qwen_edit": [f"generator.{address}"],
    }
    for file in sorted((ROOT / "conf" / group).glob("*.yaml")):
        choice = f"{group}={file.stem}"
        if choice == "experiment=ranger":
            continue
        config = compose(choice, *required.get(choice, []), name="grpo")
        assert config["task"] == "grpo"
        if group != "reward":
            check_settings(config)


def test_the_cluster_runs_gen_searchers_paper() -> None:
    config = compose("+experiment=gen_searcher", "scale=cluster_grpo", name="grpo")
    trainer, limits = config["trainer"], config["env"]["limits"]
    assert config["model"]["path"] == "Qwen/Qwen3-VL-8B-Instruct"
    assert (trainer["group"], trainer["learning_rate"], trainer["peft"]) == (6, 1e-6, "none")
    assert (trainer["scale_rewards"], trainer["max_length"], limits["tokens"]) == ("group", 36864, 36864)
    assert (trainer["mask_truncated"], trainer["mask_repeated"]) == (True, True)
    assert config["reward"]["alpha"] == 0.5
    # At most 10 turns and 5 references.
    assert limits["tool_calls"] + 1 + limits["spare_turns"] == 10
    assert limits["references"] == 5
    assert (config["rollout"]["backend"], config["rollout"]["mode"]) == ("vllm", "colocate")
    assert config["launch"]["processes"] == 8


def test_the_released_values_are_a_variant() -> None:
    config = compose("experiment=gen_searcher_released", "scale=none", name="grpo")
    trainer, rollout = config["trainer"], config["rollout"]
    assert (trainer["prompts"], trainer["group"], trainer["passes"]) == (8, 6, 1)
    assert (trainer["max_length"], config["env"]["limits"]["tokens"]) == (36000, 36000)
    assert (trainer["clip_low"], trainer["clip_high"], trainer["kl"], trainer["weight_decay"]) == (0.2, 0.28, 0.0, 0.01)
    assert (rollout["temperature"], rollout["top_p"], rollout["max_new_tokens"]) == (0.7, 0.95, 4096)


def test_a_scale_of_another_trainer_is_refused() -> None:
    with pytest.raises(ConfigError, match="scale=laptop_grpo, cluster_grpo or none"):
        check_settings(compose("scale=cluster", name="grpo"))
    with pytest.raises(ConfigError, match="scale=laptop, cluster or none"):
        check_settings({**compose(), "trainer": {**compose()["trainer"], "group": 6}})


def test_offload_adds_to_zero3() -> None:
    zero = compose("deepspeed=zero3_offload")["deepspeed"]["config"]["zero_optimization"]
    assert zero["stage"] == 3
    assert zero["stage3_gather_16bit_weights_on_model_save"] is True
    assert zero["offload_param"]["device"] == "cpu"


def test_one_pixel_policy_for_environment_and_model() -> None:
    for model in ("nano", "qwen3_vl_8b", "smollm2_135m"):
        config = compose(f"model={model}")
        assert config["env"]["pixels"] == config["model"]["pixels"]


def test_collect_takes_its_settings_at_the_top() -> None:
    config = compose("agent=direct_search", "tasks=miniweb:validation", "limit=3", name="collect")
    assert (config["tasks"], config["limit"]) == ("miniweb:validation", 3)
    assert config["agent"]["name"] == "direct_search"
    assert compose("+experiment=ranger", name="collect")["env"]["pixels"]["multiple"] == 32


def test_a_missing_value_is_a_sentence() -> None:
    with pytest.raises(ConfigError, match=r"data\.path"):
        compose("data=jsonl")
    with pytest.raises(SystemExit, match=r"error: data\.path"), plain_errors():
        raise ConfigError("data.path is wrong")


def test_a_frozen_config_reads_back(tmp_path: Path) -> None:
    config = compose("experiment=ranger", "scale=cluster")
    assert read_frozen(freeze(config, tmp_path)) == config
    about = json.loads((tmp_path / "environment.json").read_text())
    assert about["packages"]["transformers"]
    assert about["python"].startswith("3.")


def test_the_command_line_shows_every_value() -> None:
    command = [sys.executable, "-m", "trainers.sft", "+experiment=ranger", "trainer.max_steps=7", "--cfg", "job", "--resolve"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    config = yaml.safe_load(shown)
    assert config["trainer"]["max_steps"] == 7
    assert config["logger"]["group"] == "ranger"
    assert "${" not in shown
