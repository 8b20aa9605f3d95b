"""Refuses a run that would fail late or train wrongly without a word: ``python -m trainers.grpo ... --preflight``.

Runs before any weights are loaded, and before every run. Each refusal is a sentence that names the setting to change; checks do
not depend on each other, so that one refusal hides no other. What cannot be known here is reported as not checked, never as
passed.
``python -m trainers.preflight families`` shows which model families can be trained, by the chat templates that TRL brings.

It does not see what only shows with weights: whether they fit into the memory of the devices, whether they are whole, whether a
model learns. Single values out of range are refused before (`trainers.settings`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agents.runs import Config
from trainers.checks.finding import Finding, Status
from wildenv.errors import ConfigError

FLAG, KEY = "--preflight", "preflight"
_CONSOLE = Console()
_STYLES = {
    Status.PASSED: "green",
    Status.WARNING: "yellow",
    Status.REFUSED: "bold red",
    Status.NOT_APPLICABLE: "dim",
    Status.NOT_CHECKED: "yellow",
}


def asked(arguments: Sequence[str]) -> list[str]:
    """Spells ``--preflight`` on a command line as the Hydra override that it becomes; see `take`."""
    return [f"+{KEY}=true" if argument == FLAG else argument for argument in arguments]


def take(config: Config) -> bool:
    """Removes from a config whether only the preflight was asked for, and returns it."""
    return bool(config.pop(KEY, False))


def preflight(config: Config, kind: str, folder: Path) -> list[Finding]:
    """Checks a run.

    Args:
        config: ``conf/grpo.yaml`` or ``conf/sft.yaml`` as plain values; not changed.
        kind: ``grpo`` or ``sft``.
        folder: The run directory; need not exist.

    Returns:
        What each check found, in the order of `trainers.checks.all.CHECKS`.
    """
    # They bring transformers along, for which a command line that only prints its config has no time.
    from trainers.checks.all import CHECKS, run_check
    from trainers.checks.subject import Subject

    subject = Subject(config, kind, folder)
    return [finding for name in CHECKS for finding in run_check(name, subject)]


def preflight_or_stop(config: Config, folder: Path, kind: str, only: bool = False) -> None:
    """Checks a run and stops it at a refusal.

    Args:
        config: As in `preflight`.
        folder: The run directory.
        kind: ``grpo`` or ``sft``.
        only: Prints the whole table and ends the process, with code 1 if something is refused; otherwise only what has to be
            known is printed.

    Raises:
        ConfigError: With all refusals.
        SystemExit: If `only`.
    """
    findings = preflight(config, kind, folder)
    refused = [finding for finding in findings if finding.status is Status.REFUSED]
    if only:
        _CONSOLE.print(as_table(findings, f"preflight of {kind}"))
        _CONSOLE.print(summary(findings))
        raise SystemExit(1 if refused else 0)
    if refused:
        raise ConfigError("\n  ".join(["the preflight refuses this run:", *(f"{one.check}: {one.reason}" for one in refused)]))
    for finding in findings:
        if finding.status in (Status.WARNING, Status.NOT_CHECKED):
            _CONSOLE.print(f"{finding.status}: {finding.check}: {finding.reason}", style=_STYLES[finding.status], markup=False)
    _CONSOLE.print(summary(findings))


def as_table(findings: Sequence[Finding], title: str) -> Table:
    """Returns the findings as a table to print."""
    shown = Table("check", "result", "why", title=title)
    for finding in findings:
        style = _STYLES[finding.status]
        shown.add_row(finding.check, f"[{style}]{finding.status}[/]", escape(finding.reason))
    return shown


def summary(findings: Sequence[Finding]) -> str:
    """Returns how many checks ended how, in a line."""
    counts = {status: sum(finding.status is status for finding in findings) for status in Status}
    return f"{KEY}: " + ", ".join(f"{count} {status}" for status, count in counts.items() if count)


def main(arguments: Sequence[str]) -> None:
    """Shows the families; a run is checked by its own trainer."""
    if list(arguments) != ["families"]:
        raise SystemExit(
            f"error: python -m trainers.preflight families shows model families; python -m trainers.grpo ... {FLAG} and "
            f"python -m trainers.sft ... {FLAG} check a run"
        )
    from trainers.checks import families

    families.show(_CONSOLE)


if __name__ == "__main__":
    main(sys.argv[1:])
