from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from wildenv.errors import ConfigError, DataError, ToolError
from wildenv.web.client import WebClient
from wildenv.web.packs.diff import answer_changes, diff_packs
from wildenv.web.packs.listing import GAP, list_pack
from wildenv.web.packs.pack import export_pack
from wildenv.web.packs.stats import Amount, pack_stats
from wildenv.web.store import Store

CUTOFF = date(2026, 7, 4)
DOWN, MISSING = "https://a.example/down", "https://a.example/missing"


def record(path: Path, provider: Any, queries: list[str], urls: list[str]) -> Path:
    """Records into a store and exports it to `path`."""
    with Store(path.with_suffix(".db")) as store:
        client = WebClient(provider, "record", store)
        for query in queries:
            client.text_search(query, 2, CUTOFF)
        for url in urls:
            with suppress(ToolError):
                client.fetch_page(url, CUTOFF)
        for url in provider.pictures:
            client.fetch_image(url)
        export_pack(store, path)
    return path


@pytest.fixture
def pair(tmp_path: Path, make_provider: Callable[..., Any], make_picture: Callable[..., bytes]) -> tuple[Path, Path]:
    before, after = make_provider(hits=3), make_provider(hits=2, published="2 days ago")
    before.pictures = {"https://a.example/x.png": make_picture("red"), "https://a.example/y.png": make_picture("red")}
    after.pictures = {"https://a.example/x.png": make_picture("blue"), "https://a.example/y.png": make_picture("red")}
    after.down = ""
    return (
        record(
            tmp_path / "a.pack", before, ["shared", "only a"], [DOWN, MISSING, "https://a.example/p", "https://a.example/q/down"]
        ),
        record(tmp_path / "b.pack", after, ["shared"], [DOWN, MISSING, "https://a.example/p"]),
    )


def test_says_what_is_only_in_one_and_what_changed(pair: tuple[Path, Path]) -> None:
    diff = diff_packs(*pair)
    assert [(one.tool, one.text, one.answer) for one in diff.only_a] == [
        ("fetch_page", "https://a.example/q/down", GAP),
        ("text_search", "only a", "3 results"),
    ]
    assert diff.only_b == ()
    assert diff.same == 2, "the missing page and the picture that stayed"
    changed = {change.request.text: change for change in diff.changed}
    assert set(changed) == {"shared", DOWN, "https://a.example/p", "https://a.example/x.png"}
    assert (changed[DOWN].request.answer, changed[DOWN].after) == (GAP, "page of 11 characters")
    lines = changed["shared"].lines
    assert lines[0] == "- 3. shared 2 <https://a.example/2>"
    assert "  1. published: 2026-07-01 -> 2 days ago" in lines
    assert lines[-1].startswith("asked: None -> 20")
    assert changed["https://a.example/x.png"].lines[0].startswith("blob: ")
    assert json.loads(json.dumps(diff.to_dict()))["only_a"][1]["text"] == "only a"


def test_the_other_way_round_says_the_reverse(pair: tuple[Path, Path]) -> None:
    there, back = diff_packs(*pair), diff_packs(*reversed(pair))
    assert there.only_a == back.only_b
    assert {change.request.key for change in there.changed} == {change.request.key for change in back.changed}
    assert any(line.startswith("+ 3. shared 2") for change in back.changed for line in change.lines)


def test_a_store_and_its_pack_are_identical(pair: tuple[Path, Path]) -> None:
    diff = diff_packs(pair[0], pair[0].with_suffix(".db"))
    assert diff.identical
    assert diff.same == 8
    assert not diff_packs(*pair).identical


def test_ranks_and_long_pages_are_shown_shortly() -> None:
    rows = [{"url": f"u{i}", "title": f"t{i}", "snippet": "s"} for i in range(3)]
    assert list(answer_changes({"results": rows}, {"results": rows[::-1]})) == ["  3. -> 1. <u2>", "  1. -> 3. <u0>"]
    old, new = ({"page": {"title": "T", "text": "\n".join(f"{word} {i}" for i in range(30))}} for word in ("old", "new"))
    lines = list(answer_changes(old, new))
    assert lines[0] == "-old 0"
    assert lines[-1] == "... 48 more changed lines"
    long = list(answer_changes({"said": "x" * 900}, {"said": "y"}))
    assert len(long[0]) < 200
    assert list(answer_changes({"results": rows}, {"absent": "gone"})) == ["absent: None -> gone"]


def test_lists_by_tool_and_text(pair: tuple[Path, Path]) -> None:
    everything = list(list_pack(pair[0]))
    assert len(everything) == 8
    assert [one.answer for one in everything][-2:] == [GAP, GAP]
    (found,) = list_pack(pair[0], "text_search", "ONLY")
    assert (found.text, found.cutoff, found.provider, found.params) == ("only a", "2026-07-04", "fake 1", {"limit": 8})
    assert [one.answer for one in list_pack(pair[0], "fetch_page", "missing")] == ["absent"]
    assert list(list_pack(pair[0], text="secret")) == []
    assert [one.text for one in list_pack(pair[0], text="secret", inside=True)] == ["https://a.example/p"]
    with pytest.raises(ConfigError, match="tool='search' is none of text_search, image_search"):
        list(list_pack(pair[0], "search"))


def test_stats_count_entries_bytes_gaps_and_dates(pair: tuple[Path, Path], make_picture: Callable[..., bytes]) -> None:
    stats = pack_stats(pair[0])
    assert {tool: amount.entries for tool, amount in stats.by_tool.items()} == {
        "fetch_image": 2,
        "fetch_page": 2,
        "text_search": 2,
    }
    assert stats.total.entries == 6
    assert sum(amount.bytes for amount in stats.by_tool.values()) == stats.total.bytes
    assert stats.by_provider == {"fake 1": stats.total}
    assert {name: amount.entries for name, amount in stats.by_cutoff.items()} == {"2026-07-04": 4, "none": 2}
    assert stats.by_media_type == {"image/png": Amount(1, len(make_picture("red")))}, "two entries, one picture"
    assert (stats.absent, stats.empty, stats.gaps) == (1, 0, {"fetch_page": 2})
    assert (stats.first, stats.last, stats.dated, stats.undated) == (date(2026, 7, 1), date(2026, 7, 1), 7, 0)
    assert json.loads(json.dumps(stats.to_dict()))["first"] == "2026-07-01"
    later = pack_stats(pair[1])
    assert later.first == later.last
    assert later.first is not None
    assert later.first > date(2026, 7, 4)


def test_stats_read_blobs_and_say_which_is_damaged(pair: tuple[Path, Path]) -> None:
    raw = sqlite3.connect(pair[0].with_suffix(".db"), isolation_level=None)
    raw.execute("UPDATE blobs SET bytes = x'00'")
    raw.close()
    with pytest.raises(DataError, match="damaged"):
        pack_stats(pair[0].with_suffix(".db"))


def test_an_unreadable_entry_is_named(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.put("text_search", "k" * 64, {"what": 1}, {"results": []})
    with pytest.raises(DataError, match="request of text_search kkkkkkkkkkkk cannot be read"):
        list(list_pack(tmp_path / "s.db"))
