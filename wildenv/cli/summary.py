"""What a recording cost and brought, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wildenv.cli.output import counted, say, say_table, size
from wildenv.errors import ConfigError
from wildenv.web.packs.pack import check_target, export_pack, open_pack
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
    if any("gap" in kinds for kinds in report["failures"].values()):
        say("gaps are addresses that earlier runs could not get; --retry-gaps asks for them again")
    services = [
        (name, one["requests"], one["retries"], one["credits"], f"{one['cost']:.4f}", size(one["bytes"]))
        for name, one in report["services"].items()
    ]
    if services:
        say()
        say_table(("service", "requests", "retries", "credits", "cost", "received"), services)


def check_finish(store_path: str, pack: str | None, force: bool, refresh: bool) -> None:
    """Refuses, before anything is asked, a pack that `finish` could not write; raises `ConfigError`."""
    if pack is None:
        return
    if Path(pack).absolute() == Path(store_path).absolute():
        raise ConfigError(f"--store and --pack are both {pack}; give the pack another path")
    if not Path(store_path).exists():
        check_target(pack, replace=force)
        return
    check_target(pack, [store_path])
    with Store(store_path) as store:
        check_target(pack, [store_path], force or (not refresh and _kept(pack, store)))


def finish(store_path: str, pack: str | None, force: bool) -> dict[str, Any]:
    """Leaves the store as one file, counts it, and exports it if a pack is asked for.

    A pack that is there is replaced if it holds nothing but what the store holds, as that of an earlier run does; any other one
    only with `force`.
    """
    with Store(store_path) as store:
        store.gather()
        entries, gaps = store.listing(WEB_TOOLS)
        done: dict[str, Any] = {"store": store_path, "entries": len(entries), "gaps": len(gaps)}
        if pack is not None:
            done |= {"pack": pack, "digest": export_pack(store, pack, force or _kept(pack, store))}
    return done


def _kept(pack: str, store: Store) -> bool:
    """Whether the store holds every answer of a pack, if there is one."""
    if not Path(pack).is_file():
        return True
    with open_pack(pack) as found:
        return set(found.digests(WEB_TOOLS)) <= set(store.digests(WEB_TOOLS))


def say_finish(done: Mapping[str, Any]) -> None:
    """Prints `finish` as a line or two."""
    say(f"{done['store']}: {counted(done['entries'], 'entry', 'entries')}, {counted(done['gaps'], 'gap')}")
    if "pack" in done:
        say(f"{done['pack']}: content digest {done['digest']}")
