"""Every check, in the order of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trainers.checks import adapter, batch, budget, disk, distribution, resume, services, template
from trainers.checks.finding import Finding, Spared, Status, Unknown
from trainers.checks.subject import Subject
from wildenv.errors import WildenvError, told

Check = Callable[[Subject], Iterator[Finding]]
CHECKS: dict[str, Check] = {
    "model": template.model,
    template.TEMPLATE: template.template,
    template.PICTURES: template.pictures,
    template.PREFIX: template.prefix,
    template.TOKEN: template.image_token,
    "vocabulary": template.vocabulary,
    template.PIXELS: template.pixel_policy,
    batch.TASKS: batch.tasks,
    budget.LENGTH: budget.length,
    budget.ENVIRONMENT: budget.environment,
    budget.POSITIONS: budget.positions,
    batch.BATCH: batch.batch,
    batch.GROUP: batch.group,
    distribution.DEEPSPEED: distribution.deepspeed,
    distribution.GENERATION: distribution.generation,
    distribution.DUMMY: distribution.dummy_image,
    distribution.DEVICES: distribution.devices,
    distribution.UPDATES: distribution.updates,
    distribution.PATIENCE: distribution.patience,
    adapter.LORA: adapter.lora,
    services.WEB: services.web,
    services.REWARD: services.reward,
    services.JUDGE: services.judge,
    services.GENERATOR: services.generator,
    services.READER: services.reader,
    services.AGENT: services.agent,
    "resume": resume.resume,
    disk.DISK: disk.disk,
}


def run_check(name: str, subject: Subject) -> list[Finding]:
    """Runs one check; whatever it raises on purpose becomes a finding.

    Args:
        name: Of the check.
        subject: The run.
    """
    try:
        return list(CHECKS[name](subject))
    except Spared as spared:
        return [Finding(name, Status.NOT_APPLICABLE, str(spared))]
    except Unknown as unknown:
        return [Finding(name, Status.NOT_CHECKED, str(unknown))]
    except WildenvError as error:
        return [Finding(name, Status.REFUSED, str(error))]
    except Exception as error:  # noqa: BLE001 - told as a refusal
        # A value of a kind that no check expects; the other checks are made all the same.
        return [Finding(name, Status.REFUSED, f"the settings of this check cannot be read: {told(error)}")]
