from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from wildenv.errors import ConfigError, DataError, PackError, Unavailable
from wildenv.web.client import WebClient
from wildenv.web.packs.merge import Conflict, merge_packs
from wildenv.web.packs.pack import export_pack, open_pack, pack_digest, verify_pack
from wildenv.web.store import Store

CUTOFF = date(2026, 7, 4)
DOWN = "https://a.example/down"


@pytest.fixture
def packs(tmp_path: Path, make_provider: Callable[..., Any], make_picture: Callable[..., bytes]) -> list[Path]:
    """Three packs that overlap; the middle one has fewer hits, and only the last one could reach DOWN."""
    found = []
    for number, hits in enumerate([3, 2, 3]):
        provider = make_provider(hits=hits)
        provider.down = "" if number == 2 else "/down"
        provider.pictures["https://a.example/0.png"] = make_picture()
        with Store(tmp_path / f"{number}.db") as store:
            client = WebClient(provider, "record", store)
            for query in ("shared", f"own {number}"):
                client.text_search(query, 2, CUTOFF)
            client.fetch_image("https://a.example/0.png")
            for url in (DOWN, f"https://a.example/{number}/down"):
                with suppress(Unavailable):
                    client.fetch_page(url, CUTOFF)
            export_pack(store, tmp_path / f"{number}.pack")
        found.append(tmp_path / f"{number}.pack")
    return found


def shared(path: Path) -> int:
    with open_pack(path) as pack:
        return len(WebClient(mode="replay", store=pack).text_search("shared", 2, CUTOFF).decisions)


def test_holds_what_any_holds_and_lists_conflicts(packs: list[Path], tmp_path: Path) -> None:
    merged = merge_packs(packs, tmp_path / "all.pack")
    report = verify_pack(tmp_path / "all.pack")
    assert merged.digest == report.digest
    assert report.entries == {"fetch_image": 1, "fetch_page": 2, "text_search": 4}
    assert (merged.entries, report.blobs) == (7, 1)
    assert report.gaps == {"fetch_page": 2}
    assert (merged.gaps, merged.closed) == (2, 1)
    (conflict,) = merged.conflicts
    assert conflict == Conflict("text_search", "shared", conflict.key, packs[0], (packs[1],))


def test_the_order_does_not_matter_where_nothing_conflicts(packs: list[Path], tmp_path: Path) -> None:
    digests = {merge_packs(order, tmp_path / "m.pack").digest for order in permutations([packs[0], packs[2], tmp_path / "0.db"])}
    assert len(digests) == 1
    assert merge_packs([tmp_path / "m.pack"], tmp_path / "again.pack").digest in digests
    assert merge_packs([packs[0]], tmp_path / "one.pack").digest == pack_digest(packs[0])


def test_prefer_chooses_whose_answer_is_kept(packs: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "m.pack"
    a, b, c = packs
    for order, prefer, kept, others, hits in [
        ([a, b], "first", a, (b,), 3),
        ([a, b], "last", b, (a,), 2),
        ([a, c, b], "last", b, (a, c), 2),
        ([b, a, c], "last", c, (b,), 3),
    ]:
        (conflict,) = merge_packs(order, out, prefer).conflicts
        assert (conflict.kept, conflict.others) == (kept, others)
        assert shared(out) == hits
    before = out.read_bytes()
    with pytest.raises(DataError, match=r"text_search 'shared' in .*0.pack and .*1.pack. Choose prefer=first or prefer=last"):
        merge_packs(packs, out, "fail")
    assert out.read_bytes() == before
    assert merge_packs([a, c], out, "fail").conflicts == ()


def test_writes_over_another_pack_and_nothing_else(packs: list[Path], tmp_path: Path) -> None:
    before = [pack.read_bytes() for pack in packs]
    for replace in (True, False):
        with pytest.raises(ConfigError, match="is what the pack is made of"):
            merge_packs(packs, packs[0], replace=replace)
    assert [pack.read_bytes() for pack in packs] == before
    digest = merge_packs(packs, tmp_path / "m.pack").digest
    with pytest.raises(ConfigError, match=r"m\.pack is there already.*replace=True"):
        merge_packs(packs, tmp_path / "m.pack", replace=False)
    assert merge_packs(packs[:1], tmp_path / "m.pack").digest != digest
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(ConfigError, match="notes is there and is no pack"):
        merge_packs(packs, tmp_path / "notes")


def test_a_damaged_pack_is_not_merged(packs: list[Path], tmp_path: Path) -> None:
    raw = sqlite3.connect(packs[1], isolation_level=None)
    raw.execute("UPDATE entries SET response = '{\"results\":[]}' WHERE request LIKE '%own 1%'")
    raw.close()
    with pytest.raises(DataError, match="own 1"):
        merge_packs(packs, tmp_path / "m.pack")
    assert not (tmp_path / "m.pack").exists()


def test_wrong_arguments_are_named(packs: list[Path], tmp_path: Path) -> None:
    Store(tmp_path / "empty.db").close()
    for paths, prefer, says in [
        (packs, "newest", "prefer='newest' is none of first, last, fail"),
        ([], "first", "nothing to merge"),
        ([tmp_path / "empty.db"], "first", "no recorded web"),
        ([tmp_path / "nothing"], "first", "does not exist"),
    ]:
        with pytest.raises((ConfigError, PackError), match=says):
            merge_packs(paths, tmp_path / "m.pack", prefer)
