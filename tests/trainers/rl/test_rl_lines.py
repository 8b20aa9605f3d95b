from __future__ import annotations

from trainers.rl.lines import line


def test_a_record_is_one_line_that_says_what_matters() -> None:
    record = {
        "reward": 0.25,
        "rewards/image_reward/mean": 0.2,
        "rewards/text_reward/mean": 0.3,
        "rewards/text_reward/std": 0.1,
        "rollouts/answered": 0.5,
        "rollouts/unscored": 0.0,
        "frac_reward_zero_std": 1.0,
        "step_time": 12.4,
        "entropy": 0.3,
    }
    expected = "step 4/20  reward 0.250 (image 0.200, text 0.300)  answered 50%  unscored 0%  groups alike 100%  12 s"
    assert line(4, 20, record) == expected
    assert line(4, 20, {"reward": None}) == "step 4/20  reward unscored"
