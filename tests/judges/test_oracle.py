from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.judges.album import FULL, LEFT, RIGHT, TASK, TINY, Album, Picture, other, target, whole
from wildenv.images import ImageStore
from wildenv.judges.base import Judge, Reference, Submission, Verdict
from wildenv.judges.oracle import OracleJudge
from wildenv.miniweb.world import MiniWorld
from wildenv.task import Task


def judge(album: Album, *references: Reference, task: Task = TASK) -> Verdict:
    return asyncio.run(OracleJudge(album).judge(task, Submission("p", references, ImageStore())))


def test_it_is_a_search_judge() -> None:
    assert isinstance(OracleJudge(Album()), Judge)


@pytest.mark.parametrize("shot", ["press", "fan", "stage", "lineup"])
def test_any_clear_view_of_the_target_passes(shot: str) -> None:
    verdict = judge(Album(a=Picture((target(),), shot)), whole("a"))
    assert verdict.value == 1
    assert verdict.evidence["references"][0]["only_target"]


def test_a_shared_frame_passes_and_is_marked() -> None:
    album = Album(a=Picture((target(LEFT), other("sibling", RIGHT)), "lineup"))
    verdict = judge(album, whole("a"))
    assert verdict.value == 1
    row = verdict.evidence["references"][0]
    assert not row["only_target"]
    assert row["lookalike"]
    assert [shown["entity"] for shown in row["shown"]] == ["right", "wrong-sibling"]


def test_a_crop_of_the_target_alone_is_marked_so() -> None:
    album = Album(a=Picture((target(LEFT), other("sibling", RIGHT)), "lineup"))
    verdict = judge(album, whole("a", (0, 0, 500, 1000)))
    assert verdict.value == 1
    assert verdict.evidence["references"][0]["only_target"]


def test_a_crop_of_the_neighbour_fails() -> None:
    album = Album(a=Picture((target(LEFT), other("sibling", RIGHT)), "lineup"))
    verdict = judge(album, whole("a", (500, 0, 1000, 1000)))
    assert verdict.value == 0
    assert "sibling" in verdict.reason


@pytest.mark.parametrize("role", ["sibling", "older", "namesake", "rumour"])
def test_look_alikes_fail(role: str) -> None:
    verdict = judge(Album(a=Picture((other(role),))), whole("a"))
    assert verdict.value == 0
    assert role in verdict.reason


def test_a_view_that_is_too_small_fails() -> None:
    verdict = judge(Album(a=Picture((target(TINY),))), whole("a"))
    assert verdict.value == 0
    assert "small" in verdict.reason
    assert judge(Album(a=Picture((target(TINY),), size=(400, 400))), whole("a")).value == 1


@pytest.mark.parametrize(("right", "value"), [(700, 1), (600, 0)])
def test_a_crop_must_hold_most_of_the_target(right: int, value: int) -> None:
    verdict = judge(Album(a=Picture((target(FULL),))), whole("a", (0, 0, right, 1000)))
    assert verdict.value == value
    assert verdict.evidence["references"][0]["shown"][0]["share"] == pytest.approx((right - 100) / 800)


def test_a_screenshot_fails_at_any_size() -> None:
    verdict = judge(Album(a=Picture((target(),), "screenshot", (2000, 2000))), whole("a"))
    assert verdict.value == 0
    assert "screenshot" in verdict.reason


def test_unrelated_pictures_and_no_references_fail() -> None:
    assert judge(Album(a=Picture((), "unrelated")), whole("a")).value == 0
    assert judge(Album(a=Picture((other("target", event=2),))), whole("a")).value == 0
    assert judge(Album()).value == 0


def test_unrelated_extras_do_no_harm() -> None:
    album = Album(a=Picture((target(),)), b=Picture((), "unrelated"), c=Picture((other("target", event=2),)))
    assert judge(album, whole("a"), whole("b"), whole("b"), whole("c")).value == 1


def test_a_set_dominated_by_wrong_versions_misleads() -> None:
    album = Album(a=Picture((target(),)), b=Picture((other("older"),)), c=Picture((other("sibling"),)))
    assert judge(album, whole("a"), whole("b")).value == 1
    verdict = judge(album, whole("a"), whole("b"), whole("c"))
    assert verdict.value == 0
    assert (verdict.evidence["right"], verdict.evidence["related"]) == (1, 3)


def test_foreign_pixels_are_unscored() -> None:
    verdict = judge(Album(a=Picture((target(),))), replace(whole("a"), root="e"))
    assert verdict.unscored
    assert "pixels" in verdict.reason


def test_an_unknown_picture_or_task_is_unscored() -> None:
    assert judge(Album(), whole("a")).unscored
    assert judge(Album(a=Picture((target(),))), whole("a"), task=replace(TASK, id="other")).unscored


def test_the_miniweb_is_its_provenance(small_world: MiniWorld) -> None:
    task = small_world.tasks("test")[0]
    _, event = small_world.event_of(task.id)
    solo = [p for p in small_world.pictures if p.entities == (event.target,) and p.shot == "press"]
    older = [p for p in small_world.pictures if p.entities and small_world.entities[p.entities[0]].role == "older"]
    for picture, value in ((solo[0], 1), (older[0], 0)):
        root = small_world.provenance(picture.url).digest
        reference = Reference("IMG_001", root, root, picture.url)
        submission = Submission("p", (reference,), ImageStore())
        assert asyncio.run(OracleJudge(small_world).judge(task, submission)).value == value
