"""From an answer to the numbers of an episode: what is submitted, asking a reward, and writing down what it says.

An environment with a reward does all three in its last step. One without leaves the asking to somebody else, who may ask for many
episodes at once (`wildenv.env.WildEnv.settle`).
"""

from __future__ import annotations

import asyncio

from wildenv.episode import Episode
from wildenv.errors import told
from wildenv.images import Gallery, ImageStore
from wildenv.judges.base import Reference, Submission, Verdict
from wildenv.messages import Answer
from wildenv.rewards.base import Reward, RewardReport, checked_report
from wildenv.secrets import scrubbed
from wildenv.task import Task

UNASKED = RewardReport(0.0, False, {})
"""Of an episode that nobody has scored."""


def submission_of(answer: Answer, gallery: Gallery, store: ImageStore, usage: dict[str, int]) -> Submission:
    """Returns what an answer hands on; its references must be pictures of the gallery."""
    references = []
    for image_id in answer.references:
        root, box = gallery.lineage(image_id)
        references.append(Reference(image_id, gallery.record(image_id).source, root.source, root.url, box))
    return Submission(answer.prompt, tuple(references), store, usage)


async def ask(reward: Reward, task: Task, submission: Submission | None) -> RewardReport:
    """Returns what a reward says; whatever it raises or returns that no episode can hold is a report that is not valid."""
    try:
        return checked_report(await reward.score(task, submission))
    except (Exception, asyncio.CancelledError, SystemExit) as error:
        current = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and current is not None and current.cancelling():
            raise
        return RewardReport(0.0, False, {}, (Verdict(type(reward).__name__, None, f"unscored: {told(error)}"),))


def unscored(report: RewardReport, reward: object) -> str | None:
    """Says who left an answer unscored, or None if the report is valid; not why, which may name hidden things."""
    if report.valid:
        return None
    judges = sorted({verdict.judge for verdict in report.verdicts if verdict.unscored}) or [type(reward).__name__]
    return f"no verdict from {', '.join(judges)}; see the episode's verdicts"


def write_report(episode: Episode, report: RewardReport) -> None:
    """Writes a report into the record."""
    episode.verdicts = [scrubbed(verdict.to_dict()) for verdict in report.verdicts]
    episode.rewards = dict(report.components)
    episode.drawn = None if report.drawn is None else report.drawn.to_dict()
    episode.reward, episode.reward_valid = report.value, report.valid
