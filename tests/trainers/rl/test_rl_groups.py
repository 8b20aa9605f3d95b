from __future__ import annotations

import math

import pytest
import torch

from trainers.rl.groups import mask_groups

NAN = math.nan


def test_an_unscored_rollout_leaves_its_group_before_mean_and_deviation_are_taken() -> None:
    rewards = torch.tensor([[1.0, 1.0], [NAN, 1.0], [0.0, 0.0], [1.0, 0.5]])
    groups = mask_groups(rewards, size=4)
    assert groups.scored.tolist() == [True, False, True, True]
    assert groups.kept.tolist() == groups.scored.tolist()
    assert groups.skipped == 0
    # What one function scored of it does not count either: TRL would add it up as if the other were 0.
    assert torch.isnan(groups.rewards[1]).all()
    assert torch.nanmean(groups.rewards[:, 0]).item() == pytest.approx(2 / 3)


def test_a_group_with_fewer_than_two_scored_rollouts_is_skipped_and_counted() -> None:
    rewards = torch.tensor([[1.0], [NAN], [NAN], [0.0], [1.0], [NAN], [NAN], [NAN], [NAN]])
    groups = mask_groups(rewards, size=3)
    assert groups.skipped == 2
    assert groups.scored.tolist() == [True, False, False, True, True, False, False, False, False]
    assert groups.kept.tolist() == [False, False, False, True, True, False, False, False, False]
    assert torch.isnan(groups.rewards[:3]).all()
    assert mask_groups(rewards, size=3, min_valid=3).skipped == 3


def test_the_rewards_that_were_given_are_left_alone() -> None:
    rewards = torch.tensor([[1.0], [NAN]])
    mask_groups(rewards, size=2)
    assert rewards[0].item() == 1.0
