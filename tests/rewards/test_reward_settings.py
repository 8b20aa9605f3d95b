from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from wildenv.budget import Limits
from wildenv.errors import ConfigError
from wildenv.generators.cached import CachedGenerator
from wildenv.generators.compositor import Compositor
from wildenv.judges.oracle import OracleJudge
from wildenv.miniweb.truth import WorldTruth
from wildenv.miniweb.world import MiniWorld
from wildenv.rewards.combined import CombinedReward
from wildenv.rewards.generation import GenerationComponent
from wildenv.rewards.judged import Judged
from wildenv.rewards.settings import COMPONENTS, RewardSettings, make_reward

CONF = Path(__file__).resolve().parents[2] / "conf" / "reward"
MODEL = {"kind": "model", "model": {"model": "m", "base_url": "http://127.0.0.1:1/v1"}}
QWEN = {"kind": "qwen_edit", "base_url": "http://127.0.0.1:1"}


def _made(world: MiniWorld, limits: Limits | None = None, **values: Any) -> CombinedReward:
    return make_reward(RewardSettings.of(values), WorldTruth(world), world, limits or Limits())


def _conf(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CONF / f"{name}.yaml").read_text(encoding="utf-8"))
    base = {} if name == "search" else _conf("search")
    loaded.pop("defaults", None)
    return {**base, **loaded, "judge": "oracle", "generator": "compositor", "seed": 3}


def test_the_default_is_the_search_reward_by_the_oracle(small_world: MiniWorld) -> None:
    reward = _made(small_world)
    (search,) = reward.components
    assert isinstance(search, Judged)
    assert isinstance(search.judge, OracleJudge)
    assert (reward.weights, reward.generator) == ({"search": 1.0}, None)


@pytest.mark.parametrize("name", ["search", "generation", "dual", "all"])
def test_every_config_that_the_oracle_can_judge(name: str, small_world: MiniWorld) -> None:
    reward = _made(small_world, **_conf(name))
    assert sum(reward.weights.values()) == pytest.approx(1)
    drawing = name != "search"
    assert isinstance(reward.generator, Compositor) is drawing
    assert reward.seed == 3


def test_the_k_score_needs_a_judge_with_eyes(small_world: MiniWorld) -> None:
    with pytest.raises(ConfigError, match=r"'kscore', which judge=oracle does not judge; set judge=model"):
        _made(small_world, **_conf("kscore"))
    reward = _made(small_world, **{**_conf("kscore"), "judge": MODEL})
    assert reward.weights == {"kscore": 1.0}
    assert reward.components[0].needs_picture


def test_grades_and_the_strict_checklist_are_reported_beside_their_components(small_world: MiniWorld) -> None:
    names = {"components": ["kscore", "checklist"], "weights": {"kscore": 0.5, "checklist": 0.5}, "generator": "compositor"}
    kscore, checklist = _made(small_world, **names, judge=MODEL).components
    assert kscore.parts == ("faithfulness", "visual_correctness", "text_accuracy", "aesthetics")
    assert (checklist.needs_picture, checklist.parts) == (True, ("checklist_strict",))
    with pytest.raises(ConfigError, match=r"'checklist', which judge=oracle does not judge"):
        _made(small_world, components=["checklist"], generator="compositor")


def test_alpha_is_the_dual_reward(small_world: MiniWorld) -> None:
    reward = _made(small_world, components=["generation", "sufficiency"], alpha=0.3, generator="compositor")
    assert reward.weights == {"generation": pytest.approx(0.7), "sufficiency": 0.3}
    reward = _made(small_world, components=["kscore", "sufficiency"], alpha=0.5, generator="compositor", judge=MODEL)
    assert reward.weights == {"kscore": 0.5, "sufficiency": 0.5}


def test_w_and_gate_reach_the_generation_component(small_world: MiniWorld) -> None:
    (made,) = _made(small_world, components=["generation"], w=0.6, gate=False, generator="compositor").components
    assert isinstance(made, GenerationComponent)
    assert (made.w, made.gate) == (0.6, False)


def test_a_generator_nothing_asks_for_is_not_made(small_world: MiniWorld) -> None:
    assert _made(small_world, generator={"kind": "no.such.Generator"}).generator is None


def test_a_generator_that_takes_fewer_references_than_an_answer_may_have(small_world: MiniWorld, tmp_path: Path) -> None:
    generation = {"components": ["generation"], "judge": MODEL}
    with pytest.raises(ConfigError, match=r"env\.limits\.references=3"):
        _made(small_world, **generation, generator=QWEN)
    kept = {**QWEN, "store": str(tmp_path / "drawn.sqlite")}
    with pytest.raises(ConfigError, match=r"env\.limits\.references=3"):
        _made(small_world, **generation, generator=kept)
    reward = _made(small_world, Limits(references=3), **generation, generator=kept)
    assert isinstance(reward.generator, CachedGenerator)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"component": ["search"]}, r"reward\.component is no setting"),
        ({"components": ["beauty"]}, r"reward\.components=\['beauty'\]"),
        ({"components": []}, r"reward\.components=\[\]"),
        ({"components": "search"}, r"reward\.components='search'"),
        ({"components": ["search", "format"]}, r"needs reward\.weights"),
        ({"components": ["search"], "alpha": 0.5}, r"reward\.alpha=0\.5 needs 'sufficiency'"),
        ({"components": ["search"], "alpha": 0.5, "weights": {"search": 1.0}}, r"exclude each other"),
        ({"components": ["generation"]}, r"set reward\.generator, for example generator=compositor"),
        ({"components": ["generation"], "w": 2, "generator": "compositor"}, r"reward\.w=2"),
        ({"judge": "tarot"}, r"judge\.kind='tarot'"),
        ({"judge": {"kind": "oracle", "mood": 1}}, r"judge\.mood"),
        ({"components": ["generation"], "generator": "painter"}, r"generator\.kind='painter'"),
        ({"components": ["search", "format"], "weights": {"format": 1.0}}, "not only bonuses"),
    ],
)
def test_wrong_settings_are_named(values: dict[str, Any], named: str, small_world: MiniWorld) -> None:
    with pytest.raises(ConfigError, match=named):
        _made(small_world, **values)


def test_all_components_are_in_the_list() -> None:
    assert COMPONENTS == ("search", "generation", "kscore", "sufficiency", "checklist", "format", "cost")
