from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainers.rl.settings import grpo_config
from trainers.rl.opening import open_trainer
from trainers.rl.trainer import RolloutTrainer
from wildenv.adapters.trl import session_of
from wildenv.errors import InfrastructureError
from wildenv.judges.base import Submission, Verdict
from wildenv.rewards.base import RewardReport
from wildenv.task import Task


class ByPrompt:
    """Scores by how many rollouts it has seen: 0, 1, unscored, 0, 1, unscored, ..."""

    def __init__(self, pattern: list[float | None]) -> None:
        self.pattern, self.seen = pattern, 0

    async def score(self, task: Task, submission: Submission | None) -> RewardReport:
        value = self.pattern[self.seen % len(self.pattern)]
        self.seen += 1
        if value is None:
            return RewardReport(0.0, False, {"given": None}, (Verdict("given", None, "the judge is away"),))
        return RewardReport(value, True, {"given": value})


def opened(model: Path, folder: Path, pattern: list[float | None] | None = None, **trainer: Any) -> RolloutTrainer:
    config = grpo_config(model, **trainer)
    if pattern is not None:
        config["env"]["reward"] = {"_target_": f"{__name__}.ByPrompt", "pattern": pattern}
    made = open_trainer(config, folder).trainer
    made.model.train()
    return made


def batch(trainer: RolloutTrainer) -> dict[str, Any]:
    rows = [trainer.train_dataset[index // trainer.num_generations] for index in range(trainer.args.generation_batch_size)]
    return trainer._generate_and_score_completions(rows)


def log_probs(trainer: RolloutTrainer, inputs: dict[str, Any], size: int | None = None, **changed: Any) -> torch.Tensor:
    inputs = {**inputs, **changed}
    with torch.no_grad():
        return trainer._get_per_token_logps_and_entropies(
            trainer.model,
            torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1),
            torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1),
            inputs["completion_ids"].shape[1],
            size,
            pixel_values=inputs.get("pixel_values"),
            image_grid_thw=inputs.get("image_grid_thw"),
            num_images=inputs.get("num_images"),
            mm_token_type_ids=inputs.get("mm_token_type_ids"),
        )[0]


def drawn(inputs: dict[str, Any]) -> torch.Tensor:
    return (inputs["completion_mask"] * inputs["tool_mask"]).bool()


def test_rollout_and_training_agree_on_what_was_drawn(coin_folder: Path, tmp_path: Path) -> None:
    trainer = opened(coin_folder, tmp_path, mask_truncated=False, mask_repeated=False)
    inputs = batch(trainer)
    mask = drawn(inputs)
    assert mask.sum(1).min() > 0
    gap = (log_probs(trainer, inputs) - inputs["sampling_per_token_logps"])[mask].abs()
    assert gap.max() < 1e-4
    with torch.no_grad():
        trainer.model.get_output_embeddings().weight[:50] += 0.5
    assert (log_probs(trainer, inputs) - inputs["sampling_per_token_logps"])[mask].abs().max() > 0.01, "weights that changed show"


def test_pictures_that_tools_returned_reach_the_update(coin_folder: Path, tmp_path: Path) -> None:
    trainer = opened(coin_folder, tmp_path, mask_truncated=False, mask_repeated=False)
    inputs = batch(trainer)
    assert sum(inputs["num_images"]) >= 3
    before = log_probs(trainer, inputs)
    patches = inputs["image_grid_thw"].prod(-1)
    last = int(patches[: sum(inputs["num_images"][:1])].sum())
    flipped = inputs["pixel_values"].clone()
    flipped[:last] = -flipped[:last]
    after = log_probs(trainer, inputs, pixel_values=flipped)
    changed = (after - before).abs() > 1e-6
    first_picture = int((inputs["mm_token_type_ids"][0] == 1).nonzero()[0]) - inputs["prompt_ids"].shape[1]
    assert changed[0, first_picture:].any()
    assert not changed[0, :first_picture].any(), "what was drawn before the picture was shown cannot depend on it"
    assert not changed[1:].any(), "a rollout sees its own pictures only"


def test_rows_that_are_computed_one_at_a_time_have_their_own_pictures(coin_folder: Path, tmp_path: Path) -> None:
    trainer = opened(coin_folder, tmp_path, mask_truncated=False, mask_repeated=False)
    inputs = batch(trainer)
    # Rows must differ in their pictures for a mistake to show.
    values = inputs["pixel_values"] * torch.linspace(-1, 1, len(inputs["pixel_values"]))[:, None]
    at_once = log_probs(trainer, inputs, pixel_values=values)
    for size in (1, 3):
        assert torch.allclose(log_probs(trainer, inputs, size, pixel_values=values), at_once, atol=1e-3)


def test_failed_rollouts_do_not_dilute_the_entropy(coin_folder: Path, tmp_path: Path) -> None:
    found = []
    for name, pattern in (("all", [0.0, 1.0]), ("half", [0.0, 1.0, 0.0, 1.0, None, None, None, None])):
        trainer = opened(coin_folder, tmp_path / name, pattern=pattern, mask_truncated=False, mask_repeated=False)
        trainer.current_gradient_accumulation_steps = 2
        inputs = batch(trainer)
        for rows in (slice(0, 4), slice(4, 8)):
            pictures, images = sum(inputs["num_images"][: rows.start]), sum(inputs["num_images"][rows])
            patches = inputs["image_grid_thw"].prod(-1).cumsum(0).tolist()
            first, last = (patches[pictures - 1] if pictures else 0), patches[pictures + images - 1]
            tensors = {key: value for key, value in inputs.items() if isinstance(value, torch.Tensor)}
            part: dict[str, Any] = {key: value[rows] for key, value in tensors.items() if value.shape[:1] == (8,)}
            part |= {"num_images": inputs["num_images"][rows], "num_items_in_batch": inputs["num_items_in_batch"]}
            part |= {"image_grid_thw": inputs["image_grid_thw"][pictures : pictures + images]}
            part |= {"pixel_values": inputs["pixel_values"][first:last]}
            trainer.compute_loss(trainer.model, part)
        found.append(trainer._metrics["train"]["entropy"])
    assert len(found[0]) == 2
    assert found[1] == found[0][:1]


def test_the_gradient_of_the_update_reaches_the_vision_tower(coin_folder: Path, tmp_path: Path) -> None:
    trainer = opened(coin_folder, tmp_path, pattern=[0.0, 1.0], mask_truncated=False, mask_repeated=False)
    trainer.current_gradient_accumulation_steps = 1
    inputs = batch(trainer)
    trainer.compute_loss(trainer.model, inputs).backward()
    gradient = [parameter.grad for name, parameter in trainer.model.named_parameters() if "visual" in name]
    assert any(one is not None and bool(one.abs().sum() > 0) for one in gradient)


def test_a_failed_rollout_is_masked_before_the_advantage(coin_folder: Path, tmp_path: Path) -> None:
    trainer = opened(coin_folder, tmp_path, pattern=[0.0, 1.0, None, 1.0], mask_truncated=False, mask_repeated=False)
    inputs = batch(trainer)
    valid = torch.tensor([0.0, 1.0, 1.0])
    expected = (valid - valid.mean()) / (valid.std() + 1e-4)
    for group in inputs["advantages"].view(-1, 4):
        assert group[[0, 1, 3]].tolist() == pytest.approx(expected.tolist(), abs=1e-5)
        assert group[2] == 0
    assert drawn(inputs).sum(1).bool().view(-1, 4).tolist() == [[True, True, False, True]] * 2
    assert inputs["num_items_in_batch"] == drawn(inputs).sum()
    metrics = trainer._metrics["train"]
    assert (metrics["rollouts/unscored"], metrics["groups/skipped"]) == ([0.25], [0.0])


def test_a_group_with_one_scored_rollout_is_skipped_and_counted(coin_folder: Path, tmp_path: Path) -> None:
    trainer = opened(coin_folder, tmp_path, pattern=[1.0, None, None, None, 0.0, 1.0, 0.0, 1.0], mask_repeated=False)
    inputs = batch(trainer)
    assert inputs["advantages"][:4].tolist() == [0.0] * 4
    assert not drawn(inputs)[:4].any()
    assert inputs["advantages"][4:].abs().min() > 0.5
    assert trainer._metrics["train"]["groups/skipped"] == [0.5]


def test_a_run_in_which_nothing_is_scored_ends_with_the_reason(coin_folder: Path, tmp_path: Path) -> None:
    trainer = opened(coin_folder, tmp_path, pattern=[None], alarms={"patience": 2})
    inputs = batch(trainer)
    assert not drawn(inputs).any()
    with pytest.raises(InfrastructureError, match="no rollout of the last 2 batches could be scored"):
        batch(trainer)


def test_truncated_and_repeated_rollouts_give_no_gradient_but_count_in_their_group(coin_folder: Path, tmp_path: Path) -> None:
    trainer = opened(coin_folder, tmp_path, pattern=[0.0, 1.0])
    trainer._roller._limits = type(trainer._roller._limits)(300, 64)
    inputs = batch(trainer)
    truncated = [trace.truncated for trace in trainer._traces]
    assert any(truncated)
    learns = drawn(inputs).any(1).tolist()
    assert learns == [not trace.truncated and not trace.repeated for trace in trainer._traces]
    assert (inputs["advantages"] != 0).all()
    assert trainer._metrics["train"]["rollouts/truncated"] == [pytest.approx(sum(truncated) / len(truncated))]


def test_a_dummy_picture_changes_nothing_and_gives_the_vision_tower_a_gradient_of_zero(coin_folder: Path, tmp_path: Path) -> None:
    trainer = opened(coin_folder, tmp_path, mask_truncated=False, mask_repeated=False)
    inputs = batch(trainer)
    without = {name: inputs[name] for name in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask")}
    without["completion_ids"] = without["completion_ids"].clamp(max=trainer.encoder.image_token_id - 1)
    plain = log_probs(trainer, without)
    trainer.dummy_image = True
    assert torch.allclose(log_probs(trainer, without), plain, atol=1e-3)
    keep = without["completion_ids"].shape[1]
    logps, entropies, _ = trainer._get_per_token_logps_and_entropies(
        trainer.model,
        torch.cat([without["prompt_ids"], without["completion_ids"]], 1),
        torch.cat([without["prompt_mask"], without["completion_mask"]], 1),
        keep,
        compute_entropy=True,
    )
    assert entropies is not None
    assert logps.shape == entropies.shape == plain.shape
    logps.sum().backward()
    gradient = [parameter.grad for name, parameter in trainer.model.named_parameters() if "visual" in name]
    assert all(one is not None for one in gradient)
    assert all(bool((one == 0).all()) for one in gradient if one is not None)


def test_rollouts_have_seeds_of_their_own_and_are_repeatable(coin_folder: Path, tmp_path: Path) -> None:
    first, second = (opened(coin_folder, tmp_path / name) for name in ("a", "b"))
    one, two = batch(first), batch(second)
    assert one["completion_ids"].equal(two["completion_ids"])
    seeds = [trace.session.episode.seed for trace in first._traces]
    assert len(set(seeds)) == len(seeds)
    first.state.global_step = 1
    assert not batch(first)["completion_ids"].equal(one["completion_ids"])
    assert [session_of(one).episode.digest() for one in second.environments] == [
        trace.session.episode.digest() for trace in second._traces
    ]
