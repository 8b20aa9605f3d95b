"""``wildenv pack``: what can be done with recorded webs."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wildenv.cli.options import add_command, at_least
from wildenv.cli.output import counted, say, say_json, say_table, shortened, size
from wildenv.cli.words import plain_words
from wildenv.errors import ConfigError, PackError
from wildenv.web.packs.diff import PackDiff, diff_packs
from wildenv.web.packs.folder import CARD, pack_to_folder
from wildenv.web.packs.hub import SCHEME, check_repo, pack_from, push_folder
from wildenv.web.packs.listing import Listed, list_pack
from wildenv.web.packs.merge import merge_packs
from wildenv.web.packs.pack import check_target, export_pack, import_pack, verify_pack
from wildenv.web.packs.stats import Amount, pack_stats
from wildenv.web.request import WEB_TOOLS
from wildenv.web.store import Store

_TEXT = 72
_JSON = "print as JSON"
_SOURCE = "a pack or store, a dataset folder, or hf://datasets/OWNER/NAME[/FILE][@REVISION]"


def add(commands: Any) -> None:
    """Adds the group."""
    group = add_command(
        commands, "pack", "list, verify, merge, compare, count and share packs", "", "wildenv pack stats web.pack"
    )
    packs = group.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_reading(packs)
    _add_writing(packs)
    _add_sharing(packs)


def _add_reading(packs: Any) -> None:
    parser = add_command(
        packs, "list", "list what was asked, and the answers in a few words", "", 'wildenv pack list web.pack --text "lantern"'
    )
    parser.add_argument("pack", metavar="PACK", help=_SOURCE)
    parser.add_argument("--tool", choices=WEB_TOOLS, help="only this tool's requests")
    parser.add_argument("--text", default="", metavar="WORDS", help="only requests with this in their query or address")
    parser.add_argument("--inside", action="store_true", help="look for the words in the answers, too")
    parser.add_argument("--limit", type=int, default=100, metavar="N", help="show N requests (100); 0 shows all")
    parser.add_argument("--json", action="store_true", help=_JSON)
    parser.set_defaults(run=_list)

    parser = add_command(
        packs, "verify", "check every digest and page", "Exit code 1 if anything is damaged.", "wildenv pack verify web.pack"
    )
    parser.add_argument("pack", metavar="PACK", help="a pack, a dataset folder, or hf://datasets/OWNER/NAME")
    parser.add_argument("--json", action="store_true", help=_JSON)
    parser.set_defaults(run=_verify)

    parser = add_command(
        packs,
        "diff",
        "say what two packs answer differently",
        "Exit code 1 if they differ.",
        "wildenv pack diff july.pack august.pack",
    )
    parser.add_argument("a", metavar="A", help=_SOURCE)
    parser.add_argument("b", metavar="B", help="another one")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="show N requests of each kind (20); 0 shows all")
    parser.add_argument("--json", action="store_true", help=_JSON)
    parser.set_defaults(run=_diff)

    parser = add_command(
        packs, "stats", "count entries and bytes by tool, provider, cutoff and type", "", "wildenv pack stats web.pack"
    )
    parser.add_argument("pack", metavar="PACK", help=_SOURCE)
    parser.add_argument("--json", action="store_true", help=_JSON)
    parser.set_defaults(run=_stats)


def _add_writing(packs: Any) -> None:
    parser = add_command(
        packs,
        "merge",
        "make one pack of several",
        "An answer anywhere closes a gap. Requests with different answers are counted and listed.",
        "wildenv pack merge mine.pack yours.pack --out both.pack --prefer last",
    )
    parser.add_argument("packs", nargs="+", metavar="PACK", help=_SOURCE)
    parser.add_argument("--out", required=True, metavar="FILE", help="the new pack")
    parser.add_argument(
        "--prefer", choices=["first", "last", "fail"], default="first", help="whose answer to keep where two differ (first)"
    )
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="list N conflicts (20); 0 lists all")
    parser.add_argument("--json", action="store_true", help=_JSON)
    _add_force(parser)
    parser.set_defaults(run=_merge)

    parser = add_command(packs, "export", "make a pack of a store", "", "wildenv pack export web.sqlite web.pack")
    parser.add_argument("store", metavar="STORE", help="the store")
    parser.add_argument("pack", metavar="PACK", help="the new pack")
    _add_force(parser)
    parser.set_defaults(run=_export)

    parser = add_command(
        packs,
        "import",
        "copy a pack into a store, to record on from there",
        "An entry that the store has already stays as it is.",
        "wildenv pack import web.pack web.sqlite",
    )
    parser.add_argument("pack", metavar="PACK", help="a pack, a dataset folder, or hf://datasets/OWNER/NAME")
    parser.add_argument("store", metavar="STORE", help="the store; made if it is missing")
    parser.add_argument("--json", action="store_true", help=_JSON)
    parser.set_defaults(run=_import)


def _add_sharing(packs: Any) -> None:
    parser = add_command(
        packs,
        "push",
        "upload a pack, with a card, into a Hugging Face dataset",
        "The recorded pages belong to their owners; a repository that is made now is private unless you say otherwise.",
        "wildenv pack push web.pack OWNER/NAME --title 'Lanterns, July 2026'",
    )
    parser.add_argument("pack", metavar="PACK", help="the pack")
    parser.add_argument("repo", metavar="OWNER/NAME", help="the dataset repository; made if it is missing")
    parser.add_argument("--title", default="", metavar="WORDS", help="heading of the card")
    parser.add_argument("--folder", metavar="FOLDER", help="write the files here, with a card to be edited, and upload from here")
    parser.add_argument("--dry-run", action="store_true", help="upload nothing; write the files into --folder to be looked at")
    parser.add_argument("--public", action="store_true", help="make a new repository public")
    parser.add_argument("--revision", metavar="BRANCH", help="branch to upload to")
    parser.set_defaults(run=_push)

    parser = add_command(
        packs, "pull", "download a pack and verify it", "", "wildenv pack pull hf://datasets/OWNER/NAME@v1 --out web.pack"
    )
    parser.add_argument("source", metavar="SOURCE", help="hf://datasets/OWNER/NAME[/FILE][@REVISION], or a dataset folder")
    parser.add_argument("--out", required=True, metavar="FILE", help="where the pack is written")
    _add_force(parser)
    parser.set_defaults(run=_pull)


def _add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="replace a pack that is there already")


def _list(arguments: argparse.Namespace) -> int:
    at_least("--limit", arguments.limit, 0)
    found = list_pack(_local(arguments.pack), arguments.tool, arguments.text, arguments.inside)
    shown: list[Listed] = []
    count = 0
    for one in found:
        count += 1
        if not arguments.limit or count <= arguments.limit:
            shown.append(one)
    if arguments.json:
        say_json([one.to_dict() for one in shown])
        return 0
    _say_listed(shown)
    if count > len(shown):
        say(f"... {count - len(shown):,} more; --limit 0 shows all")
    say(counted(count, "request"))
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    path = _local(arguments.pack)
    if not path.is_file():
        raise ConfigError(f"there is no pack at {path}")
    try:
        report = verify_pack(path)
    except PackError as error:
        if arguments.json:
            say_json({"path": str(path), "sound": False, "damage": str(error)})
        else:
            say(plain_words(str(error), "pack"))
        return 1
    if arguments.json:
        say_json({**asdict(report), "sound": True})
        return 0
    tools = sorted(report.entries.keys() | report.gaps.keys())
    say_table(("tool", "entries", "gaps"), [(tool, report.entries.get(tool, 0), report.gaps.get(tool, 0)) for tool in tools])
    say(f"{path}: sound, {counted(report.blobs, 'blob')}, {size(report.size)}, content digest {report.digest}")
    return 0


def _diff(arguments: argparse.Namespace) -> int:
    at_least("--limit", arguments.limit, 0)
    a, b = _local(arguments.a), _local(arguments.b)
    if a.exists() and b.exists() and a.samefile(b):
        raise ConfigError(f"{arguments.a} and {arguments.b} are the same file; name two")
    diff = diff_packs(a, b)
    if arguments.json:
        say_json(diff.to_dict())
    else:
        _say_diff(diff, arguments.a, arguments.b, arguments.limit)
    return int(not diff.identical)


def _say_diff(diff: PackDiff, a: str, b: str, limit: int) -> None:
    for where, only in ((a, diff.only_a), (b, diff.only_b)):
        if only:
            say(f"only in {where}: {len(only):,}")
            _say_listed(only[: limit or None])
            say()
    if diff.changed:
        say(f"changed from {a} to {b}: {len(diff.changed):,}")
    for change in diff.changed[: limit or None]:
        asked = change.request
        cutoff = f", cutoff {asked.cutoff}" if asked.cutoff else ""
        say(f"{asked.tool} {shortened(asked.text, _TEXT)} ({asked.provider}{cutoff}): {asked.answer} -> {change.after}")
        for line in change.lines:
            say(f"    {line}")
    if any(limit and len(one) > limit for one in (diff.only_a, diff.only_b, diff.changed)):
        say(f"... shown are {limit} of each kind; --limit 0 shows all")
    say(
        f"{counted(diff.same, 'request')} the same, {len(diff.changed):,} changed, {len(diff.only_a):,} only in {a}, "
        f"{len(diff.only_b):,} only in {b}"
    )


def _stats(arguments: argparse.Namespace) -> int:
    stats = pack_stats(_local(arguments.pack))
    if arguments.json:
        say_json(stats.to_dict())
        return 0
    gaps = sum(stats.gaps.values())
    say(f"{stats.path}: {counted(stats.total.entries, 'entry', 'entries')}, {counted(gaps, 'gap')}, {size(stats.size)} on disk")
    say(f"content digest {stats.digest}")
    for heading, amounts in (
        ("tool", stats.by_tool),
        ("provider", stats.by_provider),
        ("cutoff", stats.by_cutoff),
        ("media type", stats.by_media_type),
    ):
        if amounts:
            say()
            _say_amounts(heading, amounts)
    say()
    if stats.gaps:
        say("gaps: " + ", ".join(f"{tool} {count:,}" for tool, count in stats.gaps.items()))
    say(f"absent {stats.absent:,}, empty {stats.empty:,}")
    span = "" if stats.first is None else f", from {stats.first} to {stats.last}"
    say(f"published: {stats.dated:,} results and pages dated{span}; {stats.undated:,} undated")
    return 0


def _merge(arguments: argparse.Namespace) -> int:
    at_least("--limit", arguments.limit, 0)
    merged = merge_packs([_local(one) for one in arguments.packs], arguments.out, arguments.prefer, arguments.force)
    if arguments.json:
        say_json(asdict(merged))
        return 0
    if merged.conflicts:
        shown = merged.conflicts[: arguments.limit or None]
        say(f"{counted(len(merged.conflicts), 'request')} with different answers:")
        rows = [(one.tool, shortened(one.text, _TEXT), str(one.kept), ", ".join(map(str, one.others))) for one in shown]
        say_table(("tool", "request", "kept", "left out"), rows)
        say()
    say(
        f"{arguments.out}: {counted(merged.entries, 'entry', 'entries')}, {counted(merged.gaps, 'gap')} "
        f"({merged.closed:,} closed), content digest {merged.digest}"
    )
    return 0


def _export(arguments: argparse.Namespace) -> int:
    with Store(arguments.store, read_only=True) as store:
        digest = export_pack(store, arguments.pack, replace=arguments.force)
    say(f"{arguments.pack}: {size(Path(arguments.pack).stat().st_size)}, content digest {digest}")
    return 0


def _import(arguments: argparse.Namespace) -> int:
    path = pack_from(arguments.pack)
    with Store(arguments.store) as store:
        done = import_pack(path, store)
    if arguments.json:
        say_json(asdict(done))
        return 0
    say(
        f"{arguments.store}: {counted(done.added, 'entry', 'entries')} added, {done.same:,} there already, "
        f"{done.conflicting:,} with another answer left as they were; {counted(done.gaps, 'gap')} added, {done.closed:,} closed"
    )
    return 0


def _push(arguments: argparse.Namespace) -> int:
    if arguments.dry_run and arguments.folder is None:
        raise ConfigError("--dry-run writes the folder only; name it with --folder")
    check_repo(arguments.repo)
    with tempfile.TemporaryDirectory() as own:
        folder = pack_to_folder(arguments.pack, arguments.folder or own, arguments.title, arguments.repo)
        if arguments.dry_run:
            say(f"nothing is uploaded; {folder}: look at {folder / CARD}, then run again without --dry-run")
            return 0
        say(push_folder(folder, arguments.repo, not arguments.public, arguments.revision))
    return 0


def _pull(arguments: argparse.Namespace) -> int:
    source, out = pack_from(arguments.source), Path(arguments.out)
    check_target(out, [source], arguments.force)
    report = verify_pack(source)
    part = out.with_name(f".{out.name}.part")
    try:
        shutil.copyfile(report.path, part)
        part.replace(out)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ConfigError(f"--out {out} cannot be written ({error.strerror}); name another file") from error
    entries = counted(sum(report.entries.values()), "entry", "entries")
    say(f"{out}: sound, {entries}, {size(report.size)}, content digest {report.digest}")
    return 0


def _local(source: str) -> Path:
    """Returns a pack or store as a local file."""
    return pack_from(source) if source.startswith(SCHEME) or Path(source).is_dir() else Path(source)


def _say_listed(found: Sequence[Listed]) -> None:
    rows = [(one.tool, one.cutoff or "-", one.provider, one.answer, shortened(one.text, _TEXT)) for one in found]
    say_table(("tool", "cutoff", "provider", "answer", "query or address"), rows)


def _say_amounts(heading: str, amounts: dict[str, Amount]) -> None:
    say_table((heading, "entries", "bytes"), [(name, amount.entries, amount.bytes) for name, amount in amounts.items()])
