from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from agents import checkpoint
from tests.trainers.rl.rollout_speed import compare
from tests.trainers.rl.settings import env_settings, grpo_config
from tests.trainers.runs import losses
from tests.trainers.two_ranks import train_in_ranks
from trainers.grpo import check_empty, train
from wildenv.episode import read_episodes
from wildenv.errors import ConfigError
from wildenv.registration import make_tasks


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return dict(checkpoint.load(folder).model.state_dict())


@pytest.mark.slow
def test_a_rewarded_behaviour_rises(coin_folder: Path, tmp_path: Path) -> None:
    config = grpo_config(coin_folder, max_steps=24, group=6, prompts=3, micro_batch=6, learning_rate=2e-4)
    train(config, tmp_path / "run")
    rewards = losses(tmp_path / "run", "reward")
    before, after = (sum(rewards[step] for step in steps) / 4 for steps in (range(1, 5), range(21, 25)))
    assert before < 0.6, rewards
    assert after > before + 0.2, rewards
    # Rollout and training agree all along, pictures included.
    assert max(losses(tmp_path / "run", "sampling/logp_gap").values()) < 1e-4


def test_a_resumed_run_goes_on_as_if_it_had_not_stopped(coin_folder: Path, tmp_path: Path) -> None:
    whole = grpo_config(coin_folder, max_steps=4, save_steps=2, keep_rollouts=None)
    train(whole, tmp_path / "whole")
    train({**whole, "trainer": whole["trainer"] | {"max_steps": 2}}, tmp_path / "half")
    train({**whole, "trainer": whole["trainer"] | {"resume": str(tmp_path / "half")}}, tmp_path / "rest")
    for name in ("loss", "reward", "grad_norm", "tokens/chat"):
        assert losses(tmp_path / "rest", name) == pytest.approx(losses(tmp_path / "whole", name), rel=1e-4, abs=1e-6)
    expected, found = weights(tmp_path / "whole" / "last"), weights(tmp_path / "rest" / "last")
    assert all(torch.allclose(found[name], value, atol=1e-6) for name, value in expected.items())
    first = weights(tmp_path / "half" / "last")
    assert not all(torch.equal(first[name], value) for name, value in expected.items())
    digests = [[one.digest() for one in read_episodes(tmp_path / run / "rollouts")] for run in ("whole", "half", "rest")]
    assert digests[0] == digests[1] + digests[2]


def test_lora_trains_an_adapter_that_can_be_trained_further(coin_folder: Path, tmp_path: Path) -> None:
    config = grpo_config(coin_folder, max_steps=3, learning_rate=2e-3, peft="lora", kl=0.01)
    train(config, tmp_path / "first")
    adapter = tmp_path / "first/checkpoints/checkpoint-3"
    tensors = load_file(adapter / "adapter_model.safetensors")
    assert tensors
    assert all(tensor.numel() for tensor in tensors.values())
    assert sum(float(tensor.norm()) for name, tensor in tensors.items() if "lora_B" in name) > 0
    base, merged = weights(coin_folder), weights(tmp_path / "first/last")
    assert any(not torch.equal(merged[name], value) for name, value in base.items())
    further = {**config, "trainer": config["trainer"] | {"adapter": str(adapter), "max_steps": 1}}
    train(further, tmp_path / "second")
    later = load_file(tmp_path / "second/checkpoints/checkpoint-1/adapter_model.safetensors")
    assert later.keys() == tensors.keys()
    assert any(not torch.equal(later[name], tensor) for name, tensor in tensors.items())
    assert all(torch.allclose(later[name], tensor, atol=0.05) for name, tensor in tensors.items()), "it went on, not anew"


@pytest.mark.slow
def test_ranks_train_like_one_process(coin_folder: Path, tmp_path: Path) -> None:
    """Also where one rank has no picture, and no score: rank 0 rolls the first task of a step, rank 1 the second."""
    config = grpo_config(coin_folder, max_steps=4, micro_batch=2, dummy_image=True, keep_rollouts=None, mask_repeated=False)
    config["env"]["reward"] = {"_target_": "tests.trainers.rl.coin.SeenReward"}
    sparse = {"mode": "live", "search": "tests.trainers.rl.coin.Sparse", "pages": "miniweb", "pictures": "miniweb"}
    config["env"]["web"] = sparse
    train(config, tmp_path / "one")
    shown = [len(episode.images) for episode in read_episodes(tmp_path / "one/rollouts")]
    groups = [shown[start : start + 4] for start in range(0, len(shown), 4)]
    steps = list(zip(groups[::2], groups[1::2], strict=True))
    assert any(bool(sum(first)) != bool(sum(second)) for first, second in steps), shown
    assert sum(value > 0 for value in losses(tmp_path / "one", "grad_norm").values()) >= 2
    assert 0.5 in losses(tmp_path / "one", "groups/skipped").values(), "the group of one rank, not of the other"
    zero = {stage: {**config, "deepspeed": deepspeed(stage)} for stage in ("zero2", "zero3")}
    adapter = {**zero["zero3"], "trainer": config["trainer"] | {"peft": "lora"}}
    runs = {tmp_path / "zero2": zero["zero2"], tmp_path / "zero3": zero["zero3"], tmp_path / "lora": adapter}
    train_in_ranks(runs, "trainers.grpo", timeout=300, DS_ACCELERATOR="cpu")
    for stage in ("zero2", "zero3"):
        for name in ("reward", "grad_norm", "tokens/chat", "rewards/reward_value/std", "rollouts/learnt_from", "groups/skipped"):
            expected = losses(tmp_path / "one", name)
            assert losses(tmp_path / stage, name) == pytest.approx(expected, rel=1e-3, abs=1e-6), (stage, name)
        found = weights(tmp_path / stage / "last")
        assert all(torch.allclose(found[name], value, atol=2e-5) for name, value in weights(tmp_path / "one/last").items()), stage
    tensors = load_file(tmp_path / "lora/checkpoints/checkpoint-4/adapter_model.safetensors")
    assert all(tensor.numel() for tensor in tensors.values())
    assert sum(float(tensor.norm()) for name, tensor in tensors.items() if "lora_B" in name) > 0


@pytest.mark.slow
def test_a_turn_costs_one_latency_and_not_one_a_rollout(coin_folder: Path) -> None:
    found = compare(coin_folder, rollouts=24, searches=2, latency_s=0.2)
    assert found.searches == (48, 48)
    assert found.trl > 48 * 0.2
    assert found.trl > 10 * found.ours, found


def test_what_a_run_leaves_behind(coin_folder: Path, tmp_path: Path) -> None:
    config = grpo_config(coin_folder, max_steps=2)
    dual = {"components": ["generation", "sufficiency"], "alpha": 0.5, "judge": "oracle", "generator": "compositor"}
    config["env"]["reward"] = dual
    last = train(config, tmp_path)
    wanted = {"rewards/image_reward/mean", "rewards/text_reward/mean", "frac_reward_zero_std", "entropy", "searches/repeated"}
    components = {f"components/{name}" for name in ("generation", "identity", "context", "sufficiency")}
    assert wanted | components <= set(last)
    for name in ("reward.png", "health.png", "metrics.parquet", "last/config.json", "last/chat_template.jinja"):
        assert (tmp_path / name).is_file(), name
    kept = list(read_episodes(tmp_path / "rollouts"))
    assert len(kept) == 4, "two of each record"
    assert all(set(episode.rewards) == {"generation", "identity", "context", "sufficiency"} for episode in kept)
    assert len(list((tmp_path / "trajectories").glob("*.parquet"))) == 2


def test_the_sides_of_the_dual_reward_are_weighted_by_alpha(coin_folder: Path, tmp_path: Path) -> None:
    config = grpo_config(coin_folder, max_steps=1, keep_rollouts=None)
    config["env"]["reward"] = {"_target_": "tests.trainers.rl.coin.dual_reward", "alpha": 0.25}
    last = train(config, tmp_path)
    image, text = last["rewards/image_reward/mean"], last["rewards/text_reward/mean"]
    assert min(image, text) > 0.1
    assert abs(image - text) > 0.02
    assert last["reward"] == pytest.approx(0.75 * image + 0.25 * text, abs=1e-6)
    rewards = [episode.reward for episode in read_episodes(tmp_path / "rollouts")]
    assert last["reward"] == pytest.approx(sum(rewards) / len(rewards), abs=1e-6)


def test_a_run_on_tasks_of_a_file(coin_folder: Path, tmp_path: Path) -> None:
    tasks = make_tasks("miniweb:train", env_settings()["world"])
    rows = [{"id": f"t{n}", "prompt": tasks[n].prompt, "issued": tasks[n].issued.isoformat()} for n in range(4)]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config: dict[str, Any] = grpo_config(coin_folder, max_steps=1)
    train({**config, "tasks": str(tmp_path / "tasks.jsonl")}, tmp_path / "run")
    assert {episode.task_id for episode in read_episodes(tmp_path / "run/rollouts")} <= {"t0", "t1", "t2", "t3"}


def test_a_directory_holds_one_run(tmp_path: Path) -> None:
    check_empty(tmp_path, None)
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(ConfigError, match=r"hydra\.run\.dir=.* holds a run"):
        check_empty(tmp_path, None)
    with pytest.raises(ConfigError, match="holds a run"):
        check_empty(tmp_path, str(tmp_path.parent / "other"))
    check_empty(tmp_path, str(tmp_path))
    check_empty(tmp_path, str(tmp_path / "checkpoints/checkpoint-3"))


def deepspeed(stage: str) -> dict[str, Any]:
    import yaml

    from tests.trainers.two_ranks import ROOT

    read: dict[str, Any] = yaml.safe_load((ROOT / f"conf/deepspeed/{stage}.yaml").read_text(encoding="utf-8"))
    return read
