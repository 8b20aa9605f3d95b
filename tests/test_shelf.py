from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import pytest

from wildenv.images import ImageStore, digest_of
from wildenv.shelf import Shelf


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_few_bytes_stay_in_memory(folder: Path) -> None:
    shelf = Shelf(10)
    shelf.put("a", b"12345")
    shelf.put("b", b"12345")
    assert (shelf.get("a"), shelf.get("b"), "a" in shelf, "c" in shelf) == (b"12345", b"12345", True, False)
    assert list(folder.iterdir()) == []


def test_what_is_beyond_lies_in_a_folder_that_goes_with_the_shelf(folder: Path) -> None:
    shelf = Shelf(10)
    for name in ("a", "b", "c"):
        shelf.put(name, name.encode() * 6)
        shelf.put(name, name.encode() * 6)
    assert [shelf.get(name) for name in ("a", "b", "c")] == [b"aaaaaa", b"bbbbbb", b"cccccc"]
    assert "b" in shelf
    (inside,) = folder.iterdir()
    assert sorted(one.name for one in inside.iterdir()) == ["b", "c"]
    del shelf
    gc.collect()
    assert list(folder.iterdir()) == []


def test_a_name_that_is_not_there(folder: Path) -> None:
    with pytest.raises(KeyError):
        Shelf().get("a")


def test_pictures_without_a_folder_of_their_own_do_not_fill_the_memory(folder: Path) -> None:
    store = ImageStore()
    png = bytes(9_000_000)
    store.put_png(png)
    store.put_png(png[:-1])
    assert sum(1 for one in folder.rglob("*") if one.is_file()) == 1
    assert store.png(digest_of(png[:-1])) == png[:-1]
    assert digest_of(png) in store
