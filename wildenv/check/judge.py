"""The rules for a judge."""

from __future__ import annotations

import inspect
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from wildenv.aio import run_sync
from wildenv.check.rule import is_json, require
from wildenv.errors import told
from wildenv.images import ImageStore
from wildenv.judges.base import Judge, Reference, Submission, Verdict
from wildenv.task import Task

LOST = "0" * 64
"""The digest of no picture."""


def check_judge(judge: Judge, task: Task, submission: Submission) -> None:
    """Checks a judge with a submission that it can judge. A judge that asks a service is asked up to seven times.

    Args:
        judge: The judge.
        task: A task it can judge.
        submission: An answer to it, with `drawn` if the judge looks at what a generator made.

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
    _survives_lost_pixels(judge, task, submission)
    if submission.drawn is not None:
        _verdict(judge, task, replace(submission, drawn=None), "a submission of which nothing was drawn")


def _verdict(judge: Judge, task: Task, submission: Submission, what: str) -> Verdict:
    try:
        verdict = run_sync(judge.judge(task, submission))
    except Exception as error:
        raise AssertionError(
            f"given {what}, the judge must return a verdict, an unscored one (value None) if it cannot decide; it raised "
            f"{told(error)}"
        ) from error
    require(isinstance(verdict, Verdict), f"given {what}, the judge must return a Verdict, not {type(verdict).__name__}")
    require(verdict.judge == judge.id, f"Verdict.judge is {verdict.judge!r} and judge.id {judge.id!r}; they must be the same")
    require(
        _is_score(verdict.value),
        f"Verdict.value must be a float from 0 to 1, or None for unscored, not {verdict.value!r}",
    )
    for name, part in verdict.parts.items():
        require(_is_score(part), f"Verdict.parts[{name!r}] must be a float from 0 to 1, or None for unscored, not {part!r}")
    require(isinstance(verdict.reason, str) and verdict.reason.strip(), "Verdict.reason must say why, in a sentence")
    require(is_json(verdict.to_dict()), "Verdict.evidence and Verdict.usage must be JSON values: verdicts are kept in episodes")
    for digest in verdict.evidence.get("ground_truth", []):
        require(
            digest in submission.store,
            f"Verdict.evidence['ground_truth'] names {str(digest)[:12]}, which is not in submission.store: put the picture there",
        )
    return verdict


def _is_score(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isfinite(value) and 0 <= value <= 1)


def _repeats_itself(judge: Judge, task: Task, submission: Submission, verdict: Verdict) -> None:
    with ThreadPoolExecutor(max_workers=3) as threads:
        futures = [threads.submit(_verdict, judge, task, submission, "a submission it can judge") for _ in range(3)]
        values = [future.result().value for future in futures]
    require(
        all(value == verdict.value for value in values),
        f"the same submission got {[verdict.value, *values]}, three of them at once: keep verdicts (by judge, prompt and "
        "pictures), and no state of a single submission",
    )


def _fails_an_empty_submission(judge: Judge, task: Task) -> None:
    verdict = _verdict(judge, task, Submission("a prompt", (), ImageStore()), "no references")
    require(not verdict.value, "a submission without references must not pass")


def _survives_lost_pixels(judge: Judge, task: Task, submission: Submission) -> None:
    lost = Reference("IMG_001", LOST, LOST, "https://nowhere.invalid/lost.png")
    drawn = None if submission.drawn is None else replace(submission.drawn, digest=LOST)
    _verdict(judge, task, Submission("a prompt", (lost,), ImageStore(), drawn=drawn), "a reference whose pixels are lost")
