"""What the oracle says of the embedded generator's pictures, and of prompts and references together."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.judges.album import LEFT, RIGHT, TASK, TINY, Album, Picture, other, target, whole
from wildenv.check import check_judge
from wildenv.generators.compositor import Compositor
from wildenv.images import ImageStore
from wildenv.judges.base import Drawn, Judge, Reference, Submission, Verdict
from wildenv.judges.oracle_generation import OracleGenerationJudge
from wildenv.judges.oracle_sufficiency import OracleSufficiencyJudge
from wildenv.miniweb.prompts import INDOORS, MOMENTS, NEIGHBOURS, OUTDOORS
from wildenv.miniweb.world import MiniWorld

SCENE = replace(
    TASK,
    prompt="Draw the new lantern on a wooden pier, next to a bicycle at sunset.",
    target="the lantern",
    rubric=("The lantern is on a wooden pier.", "There is a bicycle next to the lantern.", "The scene is set at sunset."),
)
STUFFED = ", ".join(("masterpiece, exactly as requested", *reversed((*INDOORS, *OUTDOORS, *MOMENTS, *NEIGHBOURS))))
DRAWN = Drawn("0" * 64, Compositor.id, 0)


def answer(*references: Reference, prompt: str = SCENE.prompt) -> Submission:
    return Submission(prompt, references, ImageStore(), drawn=DRAWN)


def generation(album: Album, given: Submission, task=SCENE) -> Verdict:
    return asyncio.run(OracleGenerationJudge(album).judge(task, given))


def sufficiency(album: Album, given: Submission, task=SCENE) -> Verdict:
    return asyncio.run(OracleSufficiencyJudge(album).judge(task, given))


def lineup() -> Picture:
    others = (other("sibling", (330, 0, 630, 1000)), other("older", (660, 0, 960, 1000)))
    return Picture((target((0, 0, 300, 1000)), *others), "lineup")


ALBUM = Album(
    clean=Picture((target(),)),
    lineup=lineup(),
    pair=Picture((target(LEFT), other("sibling", RIGHT)), "stage"),
    passerby=Picture((target(LEFT), other("target", RIGHT, event=2)), "stage"),
    tiny=Picture((target(TINY),)),
    screenshot=Picture((target(),), "screenshot"),
    sibling=Picture((other("sibling"),)),
    older=Picture((other("older"),)),
    unrelated=Picture((), "unrelated"),
)


@pytest.mark.parametrize(
    ("references", "identity"),
    [
        ([whole("clean")], 1.0),
        ([whole("lineup", (0, 0, 310, 1000))], 1.0),
        ([whole("lineup")], 0.2),
        ([whole("pair")], 0.2),
        ([whole("passerby")], 0.2),
        ([whole("tiny")], 0.2),
        ([whole("clean", (0, 0, 500, 1000))], 0.2),
        ([whole("clean", (0, 0, 200, 1000))], 0.0),
        ([whole("screenshot")], 0.0),
        ([whole("sibling")], 0.0),
        ([whole("unrelated")], 0.0),
        ([whole("lineup", (320, 0, 640, 1000))], 0.0),
        ([], 0.0),
        ([whole("unrelated"), whole("clean")], 1.0),
        ([whole("tiny"), whole("clean")], 1.0),
        ([whole("clean"), whole("sibling")], 0.2),
        ([whole("clean"), whole("lineup")], 0.2),
        ([whole("clean"), whole("sibling"), whole("older")], 0.0),
    ],
)
def test_the_identity_tier_follows_from_what_is_handed_on(references: list[Reference], identity: float) -> None:
    verdict = generation(ALBUM, answer(*references))
    assert verdict.value == verdict.parts["identity"] == identity
    assert verdict.evidence["entities"][0]["tier"] == identity
    assert verdict.reason


@pytest.mark.parametrize(
    ("prompt", "results"),
    [
        (SCENE.prompt, [True, True, True]),
        ("A lantern on a wooden pier at sunset.", [True, False, True]),
        ("A lantern with a bicycle on a snowy hill at sunrise.", [False, True, False]),
        ("A teal lantern with a star emblem.", [False, False, False]),
    ],
)
def test_the_context_is_what_the_prompt_keeps(prompt: str, results: list[bool]) -> None:
    verdict = generation(ALBUM, answer(whole("clean"), prompt=prompt))
    assert verdict.evidence["context_results"] == results
    assert len(verdict.evidence["context_reasons"]) == 3
    assert verdict.parts["context"] == pytest.approx(sum(results) / 3)


def test_what_comes_along_costs_more_identity_than_context() -> None:
    cropped, uncropped = generation(ALBUM, answer(whole("lineup", (0, 0, 310, 1000)))), generation(ALBUM, answer(whole("lineup")))
    assert uncropped.evidence["context_results"] == [True, False, True]
    gains = {name: cropped.parts[name] - uncropped.parts[name] for name in ("identity", "context")}  # type: ignore[operator]
    assert gains["identity"] > 2 * gains["context"] > 0
    assert generation(ALBUM, answer(whole("pair"))).parts["context"] == 1.0, "one neighbour of the same size is no crowd"


@pytest.mark.parametrize("prompt", [SCENE.prompt, STUFFED, "", "a lantern"])
@pytest.mark.parametrize("references", [(), (whole("unrelated"),)])
def test_doing_nothing_and_stuffing_are_worth_nothing(prompt: str, references: tuple[Reference, ...]) -> None:
    verdict = generation(ALBUM, answer(*references, prompt=prompt))
    assert verdict.parts == {"identity": 0.0, "context": 0.0}
    assert sufficiency(ALBUM, answer(*references, prompt=prompt)).value == 0


def test_stuffing_is_worth_less_than_keeping_the_conditions() -> None:
    stuffed = generation(ALBUM, answer(whole("clean"), prompt=STUFFED))
    assert stuffed.parts["context"] == 0
    assert sufficiency(ALBUM, answer(whole("clean"), prompt=STUFFED)).value == 0.75
    twice = answer(whole("clean"), prompt=f"{SCENE.prompt} {STUFFED}")
    assert sufficiency(ALBUM, twice).value == sufficiency(ALBUM, answer(whole("clean"))).value == 1.0


@pytest.mark.parametrize(
    ("references", "prompt", "value"),
    [
        ([whole("clean")], SCENE.prompt, 1.0),
        ([whole("clean")], "A lantern.", 0.75),
        ([whole("lineup")], SCENE.prompt, 0.75),
        ([whole("lineup")], "A lantern.", 0.5),
        ([whole("clean"), whole("sibling")], SCENE.prompt, 0.75),
        ([whole("clean"), whole("sibling"), whole("older")], SCENE.prompt, 0.0),
        ([whole("tiny")], SCENE.prompt, 0.0),
        ([whole("sibling")], SCENE.prompt, 0.0),
    ],
)
def test_sufficiency_is_graded_by_rule(references: list[Reference], prompt: str, value: float) -> None:
    verdict = sufficiency(ALBUM, answer(*references, prompt=prompt))
    assert verdict.value == value
    assert verdict.reason


def test_a_task_without_conditions_has_no_context() -> None:
    verdict = generation(ALBUM, answer(whole("clean")), replace(SCENE, rubric=()))
    assert (verdict.value, verdict.parts["context"]) == (1.0, None)
    assert verdict.evidence["context_na"]


def test_what_is_not_of_this_world_is_unscored() -> None:
    given = answer(whole("clean"))
    for drawn, says in ((None, "nothing was drawn"), (Drawn("0" * 64, "openai:x", 0), "openai:x's")):
        verdict = generation(ALBUM, replace(given, drawn=drawn))
        assert verdict.value is None
        assert says in verdict.reason
        assert "reward.generator=compositor" in verdict.reason
    foreign = replace(SCENE, rubric=("The lantern hangs from a zeppelin.",))
    for judge in (generation, sufficiency):
        assert judge(ALBUM, given, foreign).value is None
        assert judge(ALBUM, given, replace(SCENE, id="other")).value is None
        assert judge(ALBUM, answer(whole("gone"))).value is None
        assert judge(ALBUM, answer(replace(whole("clean"), root="e"))).value is None


def test_they_keep_the_rules_of_judges() -> None:
    for judge in (OracleGenerationJudge(ALBUM), OracleSufficiencyJudge(ALBUM)):
        assert isinstance(judge, Judge)
        check_judge(judge, SCENE, answer(whole("clean")))


def test_the_miniweb_is_judged_as_it_is(small_world: MiniWorld) -> None:
    cropped, uncropped = [], []
    for task in small_world.tasks("test"):
        number, event = small_world.event_of(task.id)
        lines = [p for p in small_world.pictures if event.target in p.entities and p.shot == "lineup"]
        for picture in lines[:1]:
            found = small_world.provenance(picture.url)
            box = next(one.box for one in found.depicted if one.role == "target" and one.event == number)
            for boxes, verdicts in ((box, cropped), ((0, 0, 1000, 1000), uncropped)):
                reference = Reference("IMG_001", found.digest, found.digest, picture.url, boxes)
                verdicts.append(generation(small_world, answer(reference, prompt=task.prompt), task))  # type: ignore[arg-type]
    assert len(cropped) > 3
    gains = [c.value - u.value for c, u in zip(cropped, uncropped, strict=True)]  # type: ignore[operator]
    context = [c.parts["context"] - u.parts["context"] for c, u in zip(cropped, uncropped, strict=True)]  # type: ignore[operator]
    assert sum(gains) > sum(context) >= 0
    assert all(verdict.parts["context"] == 1 for verdict in cropped)
