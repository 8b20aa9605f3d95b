from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from wildenv.miniweb import cache
from wildenv.miniweb.cache import cache_folder, load_world
from wildenv.miniweb.config import WorldConfig
from wildenv.miniweb.world import MiniWorld

TINY = WorldConfig(events=16)


def stored(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def rewrite(path: Path, name: str, data: bytes) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in {**members, name: data}.items():
            archive.writestr(member, content)


def test_a_world_is_generated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_world(TINY, tmp_path)

    def never(*_: object) -> MiniWorld:
        raise AssertionError("generated twice")

    monkeypatch.setattr(MiniWorld, "generate", never)
    second = load_world(TINY, tmp_path)
    assert second.digest == first.digest
    assert second.tables == first.tables
    assert [t.to_dict() for t in second.tasks("train")] == [t.to_dict() for t in first.tasks("train")]
    query = first.events[3].line
    assert second.page_index.search(query, 9) == first.page_index.search(query, 9) != []


def test_one_file_per_configuration_and_no_pickle(tmp_path: Path) -> None:
    load_world(TINY, tmp_path)
    with zipfile.ZipFile(stored(tmp_path)) as archive:
        assert {Path(name).suffix for name in archive.namelist()} == {".json", ".npy"}
        assert archive.testzip() is None
    load_world(WorldConfig(events=16, seed=1), tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:1000]), "cannot be read"),
        (lambda path: path.write_bytes(b""), "cannot be read"),
        (lambda path: rewrite(path, "head.json", b'{"format": 0}'), "format is 0"),
        (lambda path: rewrite(path, "head.json", b"{}"), "cannot be read"),
        (lambda path: rewrite(path, "rows.json", b'{"pages": []}'), "does not match its digest"),
    ],
)
def test_a_damaged_file_is_regenerated_with_a_warning(tmp_path: Path, damage, reason: str) -> None:
    good = load_world(TINY, tmp_path)
    damage(stored(tmp_path))
    with pytest.warns(UserWarning, match=reason):
        again = load_world(TINY, tmp_path)
    assert again.digest == good.digest
    assert load_world(TINY, tmp_path).digest == good.digest  # and without a warning


def test_another_generator_version_keeps_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_world(TINY, tmp_path)
    (first,) = tmp_path.glob("*.zip")
    monkeypatch.setattr(cache, "GENERATOR_VERSION", 999)
    load_world(TINY, tmp_path)
    files = sorted(tmp_path.glob("*.zip"))
    assert len(files) == 2
    (other,) = (file for file in files if file != first)
    first.write_bytes(other.read_bytes())
    monkeypatch.undo()
    with pytest.warns(UserWarning, match="its generator is 999"):
        load_world(TINY, tmp_path)


def test_a_world_drawn_differently_is_regenerated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = load_world(TINY, tmp_path)
    other = world.ground_truth("miniweb-00001")
    monkeypatch.setattr(MiniWorld, "ground_truth", lambda self, task_id: other)
    with pytest.warns(UserWarning, match="drawn by another version"):
        load_world(TINY, tmp_path)


def test_a_failed_write_leaves_nothing_behind_and_the_world_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(cache.np, "save", fail)
    with pytest.warns(UserWarning, match="disk full.*WILDENV_CACHE"):
        world = load_world(TINY, tmp_path)
    assert len(world.events) == TINY.events
    assert list(tmp_path.iterdir()) == []


def test_a_cache_folder_that_cannot_be_made_costs_only_the_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="generated again"):
        assert len(load_world(TINY, tmp_path / "file" / "cache").events) == TINY.events


def test_the_folder_is_configured_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WILDENV_CACHE", str(tmp_path / "kept"))
    assert cache_folder() == tmp_path / "kept"
    monkeypatch.delenv("WILDENV_CACHE")
    assert cache_folder() == Path.home() / ".cache" / "wildenv"
