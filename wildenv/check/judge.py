"""The rules for a judge."""

from __future__ import annotations

import inspect
import math
from concurrent.futures import ThreadPoolExecutor

from wildenv.aio import run_sync
from wildenv.check.rule import is_json, require
from wildenv.images import ImageStore
from wildenv.judges.base import Reference, SearchJudge, Submission, Verdict
from wildenv.task import Task


def check_judge(judge: SearchJudge, task: Task, submission: Submission) -> None:
    """Checks a judge with a submission that it can judge. A judge that asks a service is asked up to six times.

    Raises:
        AssertionError: At the first rule that is broken.
    """
    require(
        isinstance(getattr(judge, "id", None), str) and judge.id,
        "judge.id must be a non-empty string: verdicts are kept under it",
    )
    require(inspect.iscoroutinefunction(judge.judge), "judge.judge must be `async def`: many submissions are judged at once")
    verdict = _verdict(judge, task, submission, "a submission it can judge")
    _repeats_itself(judge, task, submission, verdict)
    _fails_an_empty_submission(judge, task)
    _survives_lost_pixels(judge, task)


def _verdict(judge: SearchJudge, task: Task, submission: Submission, what: str) -> Verdict:
    try:
        verdict = run_sync(judge.judge(task, submission))
    except Exception as error:
        raise AssertionError(
            f"given {what}, the judge must return a verdict, an unscored one (value None) if it cannot decide; it raised "
            f"{type(error).__name__}: {error}"
        ) from error
    require(isinstance(verdict, Verdict), f"given {what}, the judge must return a Verdict, not {type(verdict).__name__}")
    require(verdict.judge == judge.id, f"Verdict.judge is {verdict.judge!r} and judge.id {judge.id!r}; they must be the same")
    value = verdict.value
    require(
        value is None or (isinstance(value, float) and math.isfinite(value) and 0 <= value <= 1),
        f"Verdict.value must be a float from 0 to 1, or None for unscored, not {value!r}",
    )
    require(isinstance(verdict.reason, str) and verdict.reason.strip(), "Verdict.reason must say why, in a sentence")
    require(is_json(verdict.to_dict()), "Verdict.evidence and Verdict.usage must be JSON values: verdicts are kept in episodes")
    return verdict


def _repeats_itself(judge: SearchJudge, task: Task, submission: Submission, verdict: Verdict) -> None:
    with ThreadPoolExecutor(max_workers=3) as threads:
        futures = [threads.submit(_verdict, judge, task, submission, "a submission it can judge") for _ in range(3)]
        values = [future.result().value for future in futures]
    require(
        all(value == verdict.value for value in values),
        f"the same submission got {[verdict.value, *values]}, three of them at once: keep verdicts (by judge, prompt and "
        "pictures), and no state of a single submission",
    )


def _fails_an_empty_submission(judge: SearchJudge, task: Task) -> None:
    verdict = _verdict(judge, task, Submission("a prompt", (), ImageStore()), "no references")
    require(not verdict.value, "a submission without references must not pass")


def _survives_lost_pixels(judge: SearchJudge, task: Task) -> None:
    lost = Reference("IMG_001", "0" * 64, "0" * 64, "https://nowhere.invalid/lost.png")
    _verdict(judge, task, Submission("a prompt", (lost,), ImageStore()), "a reference whose pixels are lost")
