"""What several workers share: limits on services are divided among them, and what each asked for is added up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def divided(settings: Any, workers: int) -> Any:
    """Returns settings of which each of several workers gets its share.

    In ``rules`` and ``host_rules`` (`wildenv.web.net.manners.Rules`) so many requests a second, and so many at once, are meant of
    the whole run; each worker may always have one request under way. Rules left to the code's defaults hold for each worker.

    Args:
        settings: Plain values.
        workers: How many share them.
    """
    if isinstance(settings, list):
        return [divided(one, workers) for one in settings]
    if not isinstance(settings, Mapping):
        return settings
    return {
        key: _rules(value, workers) if str(key).endswith("rules") and isinstance(value, Mapping) else divided(value, workers)
        for key, value in settings.items()
    }


def _rules(rules: Mapping[str, Any], workers: int) -> dict[str, Any]:
    shared = dict(rules)
    if isinstance(shared.get("concurrency"), int):
        shared["concurrency"] = max(1, shared["concurrency"] // workers)
    if shared.get("per_second") is not None:
        shared["per_second"] = shared["per_second"] / workers
    return shared


def summed(reports: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Adds up reports of one form: numbers are added, mappings merged, and of texts the first stands."""
    total: dict[str, Any] = {}
    for report in reports:
        for key, value in report.items():
            if isinstance(value, Mapping):
                total[key] = summed([total.get(key, {}), value])
            elif isinstance(value, int | float):
                total[key] = total.get(key, 0) + value
            else:
                total.setdefault(key, value)
    return total


def written_files(settings: Any, name: str = "") -> dict[str, str]:
    """Returns the SQLite files that settings have written to, by the name of the setting: each ``store`` that is not replayed."""
    if isinstance(settings, list):
        return {key: path for at, one in enumerate(settings) for key, path in written_files(one, f"{name}[{at}]").items()}
    if not isinstance(settings, Mapping):
        return {}
    found: dict[str, str] = {}
    for key, value in settings.items():
        full = f"{name}.{key}" if name else str(key)
        if key == "store" and value is not None and settings.get("mode") != "replay":
            found[full] = str(value)
        else:
            found |= written_files(value, full)
    return found
