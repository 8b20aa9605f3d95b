"""Whether batches come out even, and whether there is enough to make one of."""

from __future__ import annotations

from collections.abc import Iterator

from trainers.checks.finding import Finding, Spared, Status
from trainers.checks.subject import GRPO, Subject
from wildenv.errors import ConfigError

BATCH, GROUP, TASKS = "batch", "group", "tasks"


def tasks(subject: Subject) -> Iterator[Finding]:
    """Whether there are tasks, and under GRPO enough of them for one update."""
    subject.must_play()
    setting = f"{subject.task_setting}tasks"
    found = subject.open_tasks()
    if not len(found):
        raise ConfigError(f"{setting}={subject.task_settings['tasks']} holds no task; name another one in {setting}")
    count = subject.task_count
    if subject.kind == GRPO and count < subject.trainer["prompts"]:
        raise ConfigError(
            f"an update takes trainer.prompts={subject.trainer['prompts']} tasks and there are {count}, so that no update would "
            "ever be made; lower trainer.prompts, or raise limit"
        )
    yield Finding(TASKS, Status.PASSED, f"{count} of {len(found)} tasks of {subject.task_settings['tasks']}")


def batch(subject: Subject) -> Iterator[Finding]:
    """Whether an update is a whole number of passes over all ranks."""
    settings, ranks = subject.trainer, subject.ranks
    per_pass = settings["micro_batch"] * ranks
    if subject.kind == GRPO:
        whole, name = settings["group"] * settings["prompts"], "trainer.group x trainer.prompts"
        shown = f"{settings['group']} x {settings['prompts']}"
    else:
        whole = settings["effective_batch"]
        name, shown = "trainer.effective_batch", str(whole)
    if whole % per_pass:
        raise ConfigError(
            f"{name} = {shown} is not a multiple of trainer.micro_batch={settings['micro_batch']} x {ranks} ranks; change one of "
            "them, or launch.processes"
        )
    passes = f"{whole // per_pass} passes of {settings['micro_batch']} x {ranks} ranks"
    yield Finding(BATCH, Status.PASSED, f"{whole} an update = {passes}")


def group(subject: Subject) -> Iterator[Finding]:
    """Whether a group can have as many scored rollouts as it must."""
    if subject.kind != GRPO:
        raise Spared("there are no groups in supervised training")
    size, least = subject.trainer["group"], subject.trainer["min_valid"]
    if least > size:
        raise ConfigError(
            f"trainer.min_valid={least} of a group of trainer.group={size} skips every group; lower trainer.min_valid"
        )
    yield Finding(GROUP, Status.PASSED, f"{size} rollouts of a task, {least} of which must be scored")
