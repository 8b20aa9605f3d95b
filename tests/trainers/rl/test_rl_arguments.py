from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hydra
import pytest
from hydra.core.global_hydra import GlobalHydra

from agents.runs import plain
from tests.trainers.rl.coin import dual_reward
from tests.trainers.rl.settings import ROOT, grpo_config
from trainers.rl.arguments import grpo_arguments
from trainers.rl.dataset import task_rows
from wildenv.adapters.trl import reward_functions
from wildenv.errors import ConfigError
from wildenv.registration import make_tasks


@pytest.fixture(autouse=True)
def _hydra() -> Iterator[None]:
    GlobalHydra.instance().clear()
    with hydra.initialize_config_dir(version_base="1.3", config_dir=str(ROOT / "conf")):
        yield


def released(*overrides: str) -> dict[str, Any]:
    on_this_machine = ["scale=none", "launch.processes=1", "trainer.precision=float32", "logger=none"]
    return plain(hydra.compose("grpo", ["experiment=gen_searcher_released", *on_this_machine, *overrides]))


def test_every_setting_of_the_recipe_reaches_trl(tmp_path: Path) -> None:
    config = released("trainer.kl=0.02", "trainer.passes=2", "trainer.scale_rewards=batch", "trainer.warmup_steps=3")
    made = grpo_arguments(config, tmp_path, reward_functions(dual_reward(0.25)))
    assert made.reward_weights == [0.75, 0.25]
    assert (made.num_generations, made.gradient_accumulation_steps, made.per_device_train_batch_size) == (6, 48, 1)
    assert (made.epsilon, made.epsilon_high, made.beta, made.num_iterations) == (0.2, 0.28, 0.02, 2)
    assert (made.loss_type, made.scale_rewards) == ("luspo", "batch")
    assert (made.learning_rate, made.weight_decay, made.max_grad_norm, made.warmup_steps) == (1e-6, 0.01, 1.0, 3)
    assert (made.temperature, made.top_p) == (0.7, 0.95)
    assert (made.num_train_epochs, made.max_steps, made.save_steps) == (5, -1, 20)
    assert made.max_completion_length == 36000
    assert not made.use_vllm
    assert not made.mask_truncated_completions


@pytest.mark.parametrize("mode", ["colocate", "server"])
def test_vllm_is_asked_for_by_config(tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = released(f"rollout=vllm_{mode}")
    made = grpo_arguments(config, tmp_path, reward_functions(dual_reward(0.5)))
    assert (made.use_vllm, made.vllm_mode, made.vllm_max_model_length) == (True, mode, 36000)
    assert made.generation_kwargs == {"max_tokens": 4096}
    if mode == "server":
        assert made.vllm_server_base_url == "http://127.0.0.1:8000"


def test_batches_and_backends_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    rewards = reward_functions(dual_reward(0.5))
    with pytest.raises(ConfigError, match=r"trainer\.group=4 x trainer\.prompts=2 = 8"):
        grpo_arguments(grpo_config(tmp_path, micro_batch=3), tmp_path, rewards)
    strange = grpo_config(tmp_path)
    strange["rollout"]["backend"] = "sglang"
    with pytest.raises(ConfigError, match=r"rollout\.backend"):
        grpo_arguments(strange, tmp_path, rewards)


def test_rows_are_the_first_tasks(tmp_path: Path) -> None:
    tasks = make_tasks("miniweb:train", grpo_config(tmp_path)["env"]["world"])
    rows = task_rows(tasks, 3, "Find it.")
    assert rows["task_id"][:] == [tasks[index].id for index in range(3)]
    assert rows[0]["prompt"] == [{"role": "system", "content": "Find it."}, {"role": "user", "content": ""}]
    assert len(task_rows(tasks, None, "Find it.")) == len(tasks)
    with pytest.raises(ConfigError, match="limit"):
        task_rows(tasks, 0, "Find it.")
