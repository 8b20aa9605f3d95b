from __future__ import annotations

import copy
from statistics import fmean

import pytest

from tests.fakes import tasks
from tests.rewards.fakes_reward import Draws, Says, always, score, submission
from wildenv.errors import ConfigError
from wildenv.rewards.combined import CombinedReward, dual
from wildenv.rewards.cost import CostComponent
from wildenv.rewards.format import FormatComponent
from wildenv.rewards.generation import GenerationComponent
from wildenv.rewards.judged import Judged

TASK = tasks()[0]


def test_components_are_added_up_by_weight_and_the_rest_only_reported() -> None:
    reward = CombinedReward(
        [Judged("search", always(1.0)), Judged("sufficiency", always(0.5)), Judged("other", always(0.25))],
        {"search": 0.6, "sufficiency": 0.4},
    )
    report = score(reward, TASK, submission())
    assert report.value == pytest.approx(0.8)
    assert report.valid
    assert report.components == {"search": 1.0, "sufficiency": 0.5, "other": 0.25}
    assert len(report.verdicts) == 3
    assert report.drawn is None


def _whole(search: Says, generation: Says, generator: Draws) -> CombinedReward:
    return CombinedReward(
        [Judged("search", search, needs_references=True), GenerationComponent(generation), FormatComponent(), CostComponent(8)],
        {"search": 0.5, "generation": 0.3, "format": 0.1, "cost": 0.1},
        generator,
    )


def test_without_an_answer_nobody_is_asked_and_a_verdict_says_so() -> None:
    search, generation, generator = always(1.0), always(1.0, {"identity": 1.0, "context": 1.0}), Draws()
    report = score(_whole(search, generation, generator), TASK, None)
    assert (report.value, report.valid, report.drawn) == (0.0, True, None)
    assert report.components == {
        **dict.fromkeys(("search", "generation", "identity", "context"), 0.0),
        **dict.fromkeys(("format", "cost")),
    }
    assert [(one.value, one.reason, one.evidence) for one in report.verdicts] == [(0.0, "no answer", {"drawn": False})]
    assert not search.seen + generation.seen + generator.asked


def test_an_answer_without_references_is_drawn_and_judged_and_earns_nothing() -> None:
    search, generation, generator = always(1.0), always(0.2, {"identity": 0.2, "context": 1.0}), Draws()
    given = submission(count=0, turns=4, unreadable=1, tool_calls=2)
    report = score(_whole(search, generation, generator), TASK, given)
    assert (report.value, report.valid) == (0.0, True)
    assert report.components == {
        "search": 0.0,
        "generation": pytest.approx(0.36),
        "identity": 0.2,
        "context": 1.0,
        "format": 0.75,
        "cost": 0.75,
    }
    assert generator.asked == [("a prompt", [], 0)]
    assert report.drawn is not None
    assert not search.seen
    assert report.verdicts[0].reason == "there are no references"


def test_what_a_generator_cannot_draw_without_references_is_0_by_rule_and_a_verdict_says_so() -> None:
    search, generation, generator = always(1.0), always(1.0, {"identity": 1.0, "context": 1.0}), Draws(needs_references=True)
    report = score(_whole(search, generation, generator), TASK, submission(count=0, turns=4, unreadable=1, tool_calls=2))
    assert (report.value, report.valid, report.drawn) == (0.0, True, None)
    assert report.components == {
        **dict.fromkeys(("search", "generation", "identity", "context"), 0.0),
        **dict.fromkeys(("format", "cost"), 0.75),
    }
    nothing = report.verdicts[0]
    assert (nothing.judge, nothing.value, nothing.evidence) == ("draws-1", 0.0, {"drawn": False})
    assert nothing.reason == "no references: nothing to draw from"
    assert not generation.seen + generator.asked


def test_a_judge_that_fails_on_an_answer_without_references_leaves_only_its_own_component_unscored() -> None:
    report = score(_whole(always(1.0), always(None), Draws()), TASK, submission(count=0))
    assert (report.value, report.valid) == (0.0, True)
    assert report.components["generation"] is None
    assert report.verdicts[-1].unscored


def test_a_generator_that_does_not_say_whether_it_needs_references_is_refused() -> None:
    class Mute:
        id = "mute-1"
        generate = Draws.generate

    with pytest.raises(ConfigError, match=r"reward\.generator: Mute lacks id, needs_references or generate"):
        CombinedReward([Judged("kscore", always(1.0), needs_picture=True)], {"kscore": 1.0}, Mute())  # type: ignore[arg-type]


def test_parts_of_a_verdict_are_reported_under_the_names_given() -> None:
    judge = always(0.5, {"strict": 0.0})
    reward = CombinedReward([Judged("checklist", judge, parts={"checklist_strict": "strict"})], {"checklist": 1.0})
    assert score(reward, TASK, submission()).components == {"checklist": 0.5, "checklist_strict": 0.0}
    lost = CombinedReward([Judged("checklist", always(None), parts={"checklist_strict": "strict"})], {"checklist": 1.0})
    assert score(lost, TASK, submission()).components == {"checklist": None, "checklist_strict": None}


def test_an_unscored_component_abstains_and_the_reward_is_not_valid() -> None:
    reward = CombinedReward([Judged("search", always(1.0)), Judged("text", always(None))], {"search": 0.5, "text": 0.5})
    report = score(reward, TASK, submission())
    assert (report.value, report.valid) == (0.0, False)
    assert report.components == {"search": 1.0, "text": None}


def test_an_unscored_component_without_weight_leaves_the_reward_valid() -> None:
    reward = CombinedReward([Judged("search", always(1.0)), Judged("text", always(None))], {"search": 1.0, "text": 0.0})
    report = score(reward, TASK, submission())
    assert (report.value, report.valid) == (1.0, True)
    assert report.components["text"] is None


def test_a_judge_that_fails_one_time_in_ten_changes_no_mean_and_is_reported() -> None:
    ids = [f"t{number}" for number in range(200)]
    many = [type(TASK)(id, "p", TASK.issued) for id in ids]
    truth = {id: float(number % 3 == 0) for number, id in enumerate(ids)}
    # What is lost is chosen without regard to the value: the same share of passes and of failures.
    lost = set(ids[::30] + ids[1::30] + ids[2::30])
    reliable = CombinedReward([Judged("search", Says(truth.get))], {"search": 1.0})
    flaky = CombinedReward([Judged("search", Says(lambda id: None if id in lost else truth[id]))], {"search": 1.0})
    whole = [score(reliable, task, submission()) for task in many]
    torn = [score(flaky, task, submission()) for task in many]
    scored = [report for report in torn if report.valid]
    assert 0.08 < 1 - len(scored) / len(torn) < 0.12
    assert sum(report.components["search"] is None for report in torn) == len(lost)
    assert all(report.verdicts[0].unscored for report in torn if not report.valid)
    kept = [report.value for task, report in zip(many, whole, strict=True) if task.id not in lost]
    assert [report.value for report in scored] == kept
    assert fmean(report.value for report in scored) == pytest.approx(fmean(report.value for report in whole), abs=0.004)


def test_the_picture_is_drawn_once_from_prompt_references_and_seed_and_judged_by_all() -> None:
    kscore, generation, generator = always(0.5), always(1.0, {"identity": 1.0, "context": 0.5}), Draws()
    reward = CombinedReward(
        [Judged("kscore", kscore, needs_picture=True), GenerationComponent(generation)], {"kscore": 1.0}, generator, seed=7
    )
    given = submission("draw it", count=2)
    report = score(reward, TASK, given)
    assert generator.asked == [("draw it", [(41, 50), (42, 50)], 7)]
    assert report.drawn is not None
    assert (report.drawn.generator, report.drawn.seed) == ("draws-1", 7)
    assert given.store.get(report.drawn.digest).size == (32, 24)
    assert kscore.seen[0].drawn == generation.seen[0].drawn == report.drawn


def test_nothing_is_drawn_if_no_component_asks_for_it() -> None:
    generator = Draws()
    report = score(CombinedReward([Judged("search", always(1.0))], {"search": 1.0}, generator), TASK, submission())
    assert report.value == 1.0
    assert not generator.asked


def test_a_generator_that_fails_leaves_what_needs_a_picture_unscored_and_the_rest_scored() -> None:
    judge = always(1.0, {"identity": 1.0, "context": 1.0})
    parts = [Judged("search", always(1.0)), GenerationComponent(judge)]
    report = score(CombinedReward(parts, {"generation": 1.0}, Draws(failing=True)), TASK, submission())
    assert not report.valid
    assert report.components == {"search": 1.0, "generation": None, "identity": None, "context": None}
    assert not judge.seen
    assert report.drawn is None
    failed = report.verdicts[0]
    assert (failed.judge, failed.value) == ("draws-1", None)
    assert "out of paint" in failed.reason


def test_a_bonus_is_earned_in_proportion_to_the_rest() -> None:
    def total(search: float) -> float:
        reward = CombinedReward(
            [Judged("search", always(search)), FormatComponent(), CostComponent(8)], {"search": 0.8, "format": 0.1, "cost": 0.1}
        )
        report = score(reward, TASK, submission(turns=4, unreadable=1, tool_calls=2))
        assert report.components == {"search": search, "format": 0.75, "cost": 0.75}
        return report.value

    assert total(0.0) == 0.0
    assert total(1.0) == pytest.approx(0.8 + 0.1 * 0.75 + 0.1 * 0.75)
    assert total(0.5) == pytest.approx(total(1.0) / 2)


def test_the_dual_reward() -> None:
    assert dual(0.5, "generation") == {"generation": 0.5, "sufficiency": 0.5}
    reward = CombinedReward(
        [Judged("kscore", always(0.25), needs_picture=True), Judged("sufficiency", always(0.75))], dual(0.2, "kscore"), Draws()
    )
    assert score(reward, TASK, submission()).value == pytest.approx(0.8 * 0.25 + 0.2 * 0.75)
    with pytest.raises(ConfigError, match=r"reward\.alpha=1\.5"):
        dual(1.5, "generation")


@pytest.mark.parametrize(
    ("names", "weights", "named"),
    [
        (["a", "a"], {"a": 1.0}, r"reward\.components"),
        ([], {}, r"reward\.components"),
        (["a"], {"b": 1.0}, r"reward\.weights\.b"),
        (["a", "b"], {"a": 0.5, "b": 0.4}, r"reward\.weights"),
        (["a"], {"a": 1.5}, r"reward\.weights"),
        (["a"], {}, r"reward\.weights"),
    ],
)
def test_settings_that_contradict_each_other(names: list[str], weights: dict[str, float], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        CombinedReward([Judged(name, always(1.0)) for name in names], weights)


def test_a_part_may_not_have_the_name_of_a_component() -> None:
    with pytest.raises(ConfigError, match=r"reward\.components"):
        CombinedReward([GenerationComponent(always(1.0)), Judged("identity", always(1.0))], {"identity": 1.0}, Draws())


def test_a_reward_of_bonuses_alone_is_refused() -> None:
    with pytest.raises(ConfigError, match="not only bonuses"):
        CombinedReward([Judged("search", always(1.0)), FormatComponent()], {"search": 0.0, "format": 1.0})


def test_a_picture_needs_a_generator() -> None:
    with pytest.raises(ConfigError, match=r"kscore judge a picture; set reward\.generator"):
        CombinedReward([Judged("kscore", always(1.0), needs_picture=True)], {"kscore": 1.0})


def test_a_copy_is_the_reward_itself() -> None:
    reward = CombinedReward([Judged("search", always(1.0))], {"search": 1.0})
    assert copy.deepcopy(reward) is reward
