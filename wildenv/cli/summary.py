"""What a recording cost and brought, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wildenv.cli.output import counted, say, say_table, size
from wildenv.web.pack import export_pack
from wildenv.web.request import WEB_TOOLS
from wildenv.web.store import Store


def say_web(report: Mapping[str, Any]) -> None:
    """Prints `WebClient.report` as tables."""
    rows = []
    for tool in (*report["usage"], *(tool for tool in report["failures"] if tool not in report["usage"])):
        used = report["usage"].get(tool, {"calls": 0, "hits": 0})
        failed = ", ".join(f"{kind} {count}" for kind, count in report["failures"].get(tool, {}).items())
        rows.append((tool, used["calls"], used["hits"], failed or "-"))
    say_table(("tool", "calls", "from the store", "not had"), rows)
    services = [
        (name, one["requests"], one["retries"], one["credits"], f"{one['cost']:.4f}", size(one["bytes"]))
        for name, one in report["services"].items()
    ]
    if services:
        say()
        say_table(("service", "requests", "retries", "credits", "cost", "received"), services)


def finish(store_path: str, pack: str | None) -> dict[str, Any]:
    """Leaves the store as one file, counts it, and exports it if a pack is asked for."""
    with Store(store_path) as store:
        store.gather()
        entries, gaps = store.listing(WEB_TOOLS)
        done: dict[str, Any] = {"store": store_path, "entries": len(entries), "gaps": len(gaps)}
        if pack is not None:
            done |= {"pack": pack, "digest": export_pack(store, pack)}
    return done


def say_finish(done: Mapping[str, Any]) -> None:
    """Prints `finish` as a line or two."""
    say(f"{done['store']}: {counted(done['entries'], 'entry', 'entries')}, {counted(done['gaps'], 'gap')}")
    if "pack" in done:
        say(f"{done['pack']}: content digest {done['digest']}")
