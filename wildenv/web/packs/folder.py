"""A folder for sharing a pack: the pack, a dataset card for people, and a small manifest for programs.

The folder is a valid Hugging Face dataset repository as it is. The card says what was recorded and from whom; it cannot say who
owns the recorded pages, nor grant a right to them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template

from wildenv.errors import ConfigError, PackError
from wildenv.folders import make_folder
from wildenv.strict_json import loads
from wildenv.web.packs.pack import check_target, open_pack, verify_pack
from wildenv.web.packs.stats import Amount, PackStats, pack_stats
from wildenv.web.request import WEB_TOOLS

MANIFEST = "manifest.json"
PACK = "web.pack"
CARD = "README.md"
_FORMAT = 1
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a folder says of its pack.

    Attributes:
        pack: Name of the file.
        digest: Content digest of the pack.
        entries: Number of entries by tool.
        gaps: Number of gaps by tool.
        size: Of the file, in bytes.
    """

    pack: str
    digest: str
    entries: Mapping[str, int]
    gaps: Mapping[str, int]
    size: int

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Reads a manifest.

        Raises:
            PackError: If it is damaged, of a later format, or names a file outside of its folder.
        """
        try:
            row = loads(path.read_text(encoding="utf-8"))
            written = row.pop("format")
            manifest = cls(**row)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise PackError(
                f"{path} is no manifest of a pack ({type(error).__name__}: {error}); make the folder again"
            ) from error
        if written != _FORMAT:
            raise PackError(f"{path} has format {written!r}, this release reads {_FORMAT}; install the wildenv that wrote it")
        if manifest.pack != Path(manifest.pack).name:
            raise PackError(f"{path} names the pack {manifest.pack!r}, which is no plain file name; make the folder again")
        return manifest

    def write(self, path: Path) -> None:
        """Writes it."""
        row = {"format": _FORMAT, **{name: getattr(self, name) for name in self.__slots__}}
        path.write_text(json.dumps(row, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def pack_to_folder(pack: str | Path, folder: str | Path, title: str = "", repo: str = "OWNER/NAME") -> Path:
    """Writes a pack, its card and its manifest into a folder.

    A card that is there already stays, so that what was written by hand is not lost; remove it to have it written again.

    Args:
        pack: The pack; verified first.
        folder: Made if it is missing.
        title: Heading of the card; the name of the pack by default.
        repo: Where the folder is going to be pushed, for the card.

    Returns:
        The folder.

    Raises:
        PackError: If the pack is damaged.
        ConfigError: If the folder cannot be written, or holds other files under the names of the pack or the manifest.
    """
    pack, folder = Path(pack), Path(folder)
    report = verify_pack(pack)
    stats = pack_stats(pack)
    make_folder(folder, "the dataset folder")
    target = folder / PACK
    _check_folder(folder, pack)
    try:
        if not (target.exists() and target.samefile(pack)):
            part = target.with_name(f".{PACK}.part")
            shutil.copyfile(pack, part)
            part.replace(target)
        Manifest(PACK, report.digest, report.entries, report.gaps, report.size).write(folder / MANIFEST)
        if not (folder / CARD).exists():
            (folder / CARD).write_text(card(stats, title or pack.stem, repo), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"the dataset folder {folder} cannot be written ({error.strerror}); name another folder") from error
    return folder


def _check_folder(folder: Path, pack: Path) -> None:
    """Refuses a folder in which a file would be replaced that was not made here."""
    target, manifest = folder / PACK, folder / MANIFEST
    if manifest.exists():
        try:
            Manifest.read(manifest)
        except PackError as error:
            raise ConfigError(f"{manifest} is there and is no manifest of a pack; name another folder") from error
    if target.exists() and not target.samefile(pack):
        check_target(target, replace=True)
        if not manifest.exists():
            raise ConfigError(f"{target} is another pack, and {folder} was not made for sharing; name another folder")


def pack_in(folder: str | Path) -> Path:
    """Returns the pack of a folder, checked against the folder's manifest.

    Raises:
        PackError: If there is no pack or manifest, or they do not belong together.
    """
    folder = Path(folder)
    if not (folder / MANIFEST).is_file():
        raise PackError(f"{folder} has no {MANIFEST}; make it with `wildenv pack push --dry-run`, or name the pack file itself")
    manifest = Manifest.read(folder / MANIFEST)
    return matching(folder / manifest.pack, manifest)


def matching(pack: Path, manifest: Manifest | None) -> Path:
    """Returns a pack whose list of entries has the digest that is stated; the entries are checked when they are read.

    Args:
        pack: The pack.
        manifest: Who states it; the pack itself if None.

    Raises:
        PackError: If it is another one; further errors as in `open_pack`.
    """
    with open_pack(pack) as store:
        found, stated = store.content_digest(WEB_TOOLS), store.meta().get("content_digest")
    wanted = stated if manifest is None else manifest.digest
    if found != wanted:
        raise PackError(f"{pack} has the content digest {found[:12]}, expected was {str(wanted)[:12]}; get the file again")
    return pack


def card(stats: PackStats, title: str, repo: str) -> str:
    """Returns a dataset card; its words are in ``card.txt``."""
    dates = "No result or page has a date that can be read."
    if stats.first is not None:
        dates = (
            f"{stats.dated:,} results and pages are dated, from {stats.first} to {stats.last}, as their sources gave it; "
            f"{stats.undated:,} have no date that can be read."
        )
    words = Template(resources.files("wildenv.web.packs").joinpath("card.txt").read_text(encoding="utf-8"))
    return words.substitute(
        title=title,
        # A JSON string is a YAML string.
        yaml_title=json.dumps(title, ensure_ascii=False),
        repo=repo,
        size_category=next((name for limit, name in _SIZES if stats.total.entries < limit), "n>1M"),
        entries=f"{stats.total.entries:,}",
        gaps=f"{sum(stats.gaps.values()):,}",
        bytes=f"{stats.size:,}",
        digest=stats.digest,
        dates=dates,
        tools=_table("requests", stats.by_tool),
        cutoffs=_table("last visible day", stats.by_cutoff),
        providers=_table("asked", stats.by_provider),
    )


def _table(heading: str, amounts: Mapping[str, Amount]) -> str:
    rows = [f"| {name} | {amount.entries:,} | {amount.bytes:,} |" for name, amount in amounts.items()]
    return "\n".join([f"| {heading} | entries | bytes |", "| --- | ---: | ---: |", *rows])
