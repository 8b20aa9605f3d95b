"""The scripted reader, on pictures at the size a policy sees."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from agents.lci.blobs import components, grow
from agents.lci.colours import COLOUR_WORDS, WORDS, name_pixels
from agents.lci.pixels import Sighting, read
from agents.lci.weave import PATTERN_WORDS
from tests.miniweb.pictures_sample import random_scene
from wildenv.images import PixelPolicy
from wildenv.miniweb.look import PALETTE, PATTERNS
from wildenv.miniweb.pictures import Scene, render

Box = tuple[int, int, int, int]


def seen(scene: Scene) -> tuple[list[Sighting], tuple[Box, ...]]:
    drawn = render(scene)
    return read(np.asarray(PixelPolicy().fit(drawn.image))), drawn.boxes


def overlap(a: Box, b: Box) -> float:
    """Intersection over union."""
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0.0
    return w * h / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - w * h)


def score(shot: str, pictures: int) -> dict[str, float]:
    """Shares of right readings; `wrong_accent` is the share of accents that are neither right nor None."""
    rng = Random(f"score:{shot}")
    tally: Counter[str] = Counter()
    for seed in range(pictures):
        scene = random_scene(rng, shot, seed)
        sightings, boxes = seen(scene)
        tally["pictures"] += 1
        tally["count"] += len(sightings) == len(boxes)
        for look, box in zip(scene.subjects, boxes, strict=True):
            tally["things"] += 1
            if not sightings:
                continue
            found = max(sightings, key=lambda item: overlap(item.box, box))
            for name in ("main", "trim", "accent", "pattern"):
                tally[name] += getattr(found, name) == getattr(look, name)
            tally["wrong_accent"] += found.accent not in (None, look.accent)
            tally["box"] += overlap(found.box, box) > 0.6
    return {key: n / tally["pictures" if key == "count" else "things"] for key, n in tally.items()}


@pytest.mark.parametrize(
    ("shot", "floors"),
    [
        ("press", {"count": 0.97, "main": 0.97, "trim": 0.92, "accent": 0.8, "pattern": 0.78, "box": 0.93}),
        ("lineup", {"count": 0.95, "main": 0.95, "trim": 0.9, "accent": 0.8, "pattern": 0.65, "box": 0.9}),
        ("stage", {"count": 0.9, "main": 0.93, "trim": 0.88, "accent": 0.75, "box": 0.85}),
        ("fan", {"count": 0.93, "main": 0.93, "trim": 0.9, "accent": 0.8, "box": 0.85}),
        ("screenshot", {"count": 0.95, "main": 0.9, "trim": 0.85, "box": 0.85}),
    ],
)
def test_accuracy_at_the_size_a_policy_sees(shot: str, floors: dict[str, float]) -> None:
    got = score(shot, 60)
    assert {name: got[name] for name, floor in floors.items() if got[name] < floor} == {}
    assert got.get("wrong_accent", 0.0) <= 0.05


def test_nothing_is_seen_where_nothing_stands() -> None:
    for seed in range(25):
        assert seen(Scene("unrelated", (), seed))[0] == []
    assert read(np.full((112, 112, 3), 200, dtype=np.uint8)) == []


def test_words_agree_with_the_miniweb() -> None:
    assert set(WORDS) == set(PALETTE)
    assert set(PATTERN_WORDS) == set(PATTERNS)


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("light", [0.75, 1.0, 1.1])
def test_colour_names_survive_light(word: str, light: float) -> None:
    pixel = np.clip(np.array(COLOUR_WORDS[word]) * light, 0, 255).astype(np.uint8).reshape(1, 1, 3)
    assert WORDS[int(name_pixels(pixel)[0, 0]) - 1] == word


def test_greys_have_no_name() -> None:
    greys = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=2)
    assert not name_pixels(greys).any()


def blocks(*places: tuple[int, int]) -> NDArray[np.uint8]:
    image = np.full((112, 140, 3), 230, dtype=np.uint8)
    for x, y in places:
        image[y : y + 30, x : x + 30] = COLOUR_WORDS["red"]
        image[y + 20 : y + 30, x : x + 30] = COLOUR_WORDS["blue"]
    return image


def test_reading_order_is_by_rows() -> None:
    found = read(blocks((90, 62), (12, 8), (90, 10), (12, 60)))
    assert [(s.box[0] < 500, s.box[1] < 500) for s in found] == [
        (True, True),
        (False, True),
        (True, False),
        (False, False),
    ]
    assert {(s.main, s.trim, s.accent, s.pattern) for s in found} == {("red", "blue", None, None)}


def test_boxes_are_thousandths_of_the_picture() -> None:
    (only,) = read(blocks((35, 28)))
    assert only.box == (250, 250, 465, 518)


def test_wrong_arrays_are_refused() -> None:
    for bad in (np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4, 3), np.float32)):
        with pytest.raises(ValueError, match="uint8 of shape"):
            read(bad)


def test_components_match_a_flood_fill() -> None:
    mask = np.random.default_rng(0).random((40, 50)) < 0.42
    labels, blobs = components(mask)
    assert (labels > 0).tolist() == mask.tolist()
    assert sum(blob.area for blob in blobs) == int(mask.sum())
    todo = {(int(y), int(x)) for y, x in zip(*np.nonzero(mask), strict=True)}
    pieces = 0
    while todo:
        pieces += 1
        stack = [min(todo)]
        number = labels[stack[0]]
        todo.discard(stack[0])
        area = 0
        while stack:
            y, x = stack.pop()
            area += 1
            assert labels[y, x] == number
            near = {(y + dy, x + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)} & todo
            todo -= near
            stack.extend(near)
        assert blobs[number - 1].area == area
    assert pieces == len(blobs)


def test_grow_is_a_square_dilation() -> None:
    mask = np.zeros((7, 7), dtype=bool)
    mask[3, 3] = True
    assert grow(mask, 2).sum() == 25
