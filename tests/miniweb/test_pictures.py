"""Drawn scenes: stable bytes, true boxes, visible differences, quiet backgrounds."""

import hashlib
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from PIL import Image, ImageChops

from tests.miniweb.pictures_sample import random_look, random_scene, sibling
from wildenv.miniweb.contact_sheet import contact_sheet
from wildenv.miniweb.look import EMBLEMS, KINDS, PATTERNS, SILHOUETTES, Look
from wildenv.miniweb.pictures import SHOTS, SUBJECTS, Scene, render
from wildenv.miniweb.pictures.things import DRAWINGS, thing

CAR = Look("car", "van", "red", "yellow", "teal", "stripes", "star", "NOVA")


def digest(seed: int) -> str:
    rng = Random(seed)
    total = hashlib.sha256()
    for shot in SHOTS:
        total.update(render(random_scene(rng, shot, seed)).image.tobytes())
    return total.hexdigest()


def test_every_kind_and_silhouette_has_a_drawing() -> None:
    assert set(DRAWINGS) == {(kind, silhouette) for kind in KINDS for silhouette in SILHOUETTES[kind]}


def test_same_scene_gives_same_bytes_in_another_process() -> None:
    code = "import sys; from tests.miniweb.test_pictures import digest; sys.stdout.write(digest(3))"
    root = Path(__file__).parents[2]
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert other.stdout == digest(3)


def test_seed_changes_what_is_incidental() -> None:
    a, b = (render(Scene("press", (CAR,), seed)).image for seed in (1, 2))
    assert a.size != b.size or ImageChops.difference(a, b).getbbox() is not None


@pytest.mark.parametrize("shot", SHOTS)
def test_sizes_and_boxes(shot: str) -> None:
    rng = Random(f"boxes:{shot}")
    for seed in range(8):
        scene = random_scene(rng, shot, seed)
        drawn = render(scene)
        assert drawn.image.mode == "RGB"
        assert all(side % 28 == 0 and 160 <= side <= 340 for side in drawn.image.size)
        assert len(drawn.boxes) == len(scene.subjects)
        for x0, y0, x1, y1 in drawn.boxes:
            assert 0 <= x0 < x1 <= 1000
            assert 0 <= y0 < y1 <= 1000


@pytest.mark.parametrize("silhouette", [(k, s) for k in KINDS for s in SILHOUETTES[k]], ids="-".join)
def test_box_is_tight_around_the_thing(silhouette: tuple[str, str]) -> None:
    look = random_look(Random(f"tight:{silhouette}"), *silhouette)
    shape = np.asarray(thing(look, 140).getchannel("A")) >= 64
    assert shape[0].any()
    assert shape[-1].any()
    assert shape[:, 0].any()
    assert shape[:, -1].any()
    assert shape.mean() > 0.25


def test_things_in_a_lineup_keep_a_clear_gap() -> None:
    rng = Random(5)
    for seed in range(20):
        boxes = render(random_scene(rng, "lineup", seed)).boxes
        for i, a in enumerate(boxes):
            for b in boxes[i + 1 :]:
                assert max(a[0], b[0]) - min(a[2], b[2]) > 20 or max(a[1], b[1]) - min(a[3], b[3]) > 20


def test_share_of_the_picture_follows_the_shot() -> None:
    rng = Random(6)
    for seed in range(15):
        look = random_look(rng)
        x0, y0, x1, y1 = render(Scene("press", (look,), seed)).boxes[0]
        assert 0.6 <= max(x1 - x0, y1 - y0) / 1000 <= 0.9
        x0, y0, x1, y1 = render(Scene("stage", (look,), seed)).boxes[0]
        assert 0.2 <= (y1 - y0) / 1000 <= 0.47
        x0, y0, x1, y1 = render(Scene("screenshot", (look,), seed)).boxes[0]
        assert max(x1 - x0, y1 - y0) / 1000 <= 0.42


@pytest.mark.parametrize("kind", KINDS)
def test_every_sibling_looks_different(kind: str) -> None:
    rng = Random(f"siblings:{kind}")
    for silhouette in SILHOUETTES[kind]:
        look = random_look(rng, kind, silhouette)
        pictures = {thing(look, 100).tobytes()}
        for pattern in PATTERNS:
            pictures.add(thing(Look.from_dict({**look.to_dict(), "pattern": pattern}), 100).tobytes())
        for emblem in EMBLEMS:
            pictures.add(thing(Look.from_dict({**look.to_dict(), "emblem": emblem}), 100).tobytes())
        assert len(pictures) == len(PATTERNS) + len(EMBLEMS) - 1


def test_one_changed_attribute_is_visible_in_a_small_picture() -> None:
    rng = Random(9)
    for seed in range(40):
        look = random_look(rng)
        other = sibling(rng, look)
        if other.silhouette != look.silhouette:
            continue
        a, b = (render(Scene("press", (item,), seed)).image.resize((112, 112)) for item in (look, other))
        changed = np.abs(np.asarray(a, dtype=int) - np.asarray(b, dtype=int)).max(2) > 40
        assert changed.sum() >= 25, look.differences(other)


@pytest.mark.parametrize("shot", ["stage", "fan", "screenshot", "unrelated", "press"])
def test_backgrounds_are_desaturated(shot: str) -> None:
    rng = Random(f"grey:{shot}")
    for seed in range(12):
        scene = random_scene(rng, shot, seed)
        drawn = render(scene)
        pixels = np.asarray(drawn.image, dtype=int)
        height, width = pixels.shape[:2]
        outside = np.ones((height, width), dtype=bool)
        for x0, y0, x1, y1 in drawn.boxes:
            outside[y0 * height // 1000 : y1 * height // 1000 + 2, x0 * width // 1000 : x1 * width // 1000 + 2] = False
        chroma = (pixels.max(2) - pixels.min(2))[outside]
        assert np.quantile(chroma, 0.999) < 45


def test_scene_round_trip_and_refusals() -> None:
    scene = Scene("press", (CAR,), 4)
    assert Scene.from_dict(scene.to_dict()) == scene
    with pytest.raises(ValueError, match="shot must be one of"):
        Scene("selfie", (CAR,), 0)
    with pytest.raises(ValueError, match="takes 2 to 4 subjects, got 1"):
        Scene("lineup", (CAR,), 0)
    with pytest.raises(ValueError, match="takes 0 to 0 subjects"):
        Scene("unrelated", (CAR,), 0)
    with pytest.raises(ValueError, match="seed must be non-negative"):
        Scene("press", (CAR,), -1)
    with pytest.raises(ValueError, match="exactly the keys"):
        Scene.from_dict({"shot": "press", "subjects": []})
    assert set(SUBJECTS) == set(SHOTS)


def test_contact_sheet() -> None:
    scenes = [Scene("press", (CAR,), 0), Scene("unrelated", (), 1), Scene("fan", (CAR,), 2)]
    sheet = contact_sheet(scenes, ["a", "b", "c"], columns=2)
    assert isinstance(sheet, Image.Image)
    assert sheet.size == (2 * 232 + 8, 2 * 260 + 8)
    with pytest.raises(ValueError, match="as many captions"):
        contact_sheet(scenes, ["a"], columns=2)
