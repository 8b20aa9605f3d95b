from __future__ import annotations

import asyncio
from random import Random

import numpy as np
import pytest
from PIL import Image

from wildenv.generators.base import Generator
from wildenv.generators.compositor import SIZE, Compositor, compose
from wildenv.generators.drawings.canvas import Canvas
from wildenv.generators.drawings.companions import COMPANIONS
from wildenv.generators.drawings.grounds import GROUNDS
from wildenv.generators.drawings.light import MOMENTS
from wildenv.generators.drawings.rooms import ROOMS
from wildenv.generators.scene import Scene
from wildenv.images import encode
from wildenv.miniweb import prompts

RED = Image.new("RGB", (60, 60), (250, 0, 0))
PROMPT = "Draw the new Acme cup on a wooden pier, next to a barrel at sunset."


def _draw(prompt: str, references: list[Image.Image], seed: int = 0) -> Image.Image:
    return asyncio.run(Compositor().generate(prompt, references, seed))


def _differ(first: Image.Image, second: Image.Image) -> float:
    """Returns the share of pixels that differ clearly."""
    apart = np.abs(np.asarray(first, dtype=int) - np.asarray(second, dtype=int)).max(axis=2)
    return float((apart > 12).mean())


def test_every_word_of_the_requests_has_a_drawing_and_no_other() -> None:
    assert list(ROOMS) == list(prompts.INDOORS)
    assert list(GROUNDS) == list(prompts.OUTDOORS)
    assert set(COMPANIONS) == set(prompts.NEIGHBOURS)
    assert set(MOMENTS) == set(prompts.MOMENTS)


def test_it_is_a_generator_and_deterministic() -> None:
    assert isinstance(Compositor(), Generator)
    first = _draw(PROMPT, [RED], 3)
    assert (first.size, first.mode) == (SIZE, "RGB")
    assert encode(first) == encode(_draw(PROMPT, [RED], 3))
    assert encode(first) != encode(_draw(PROMPT, [RED], 4))


@pytest.mark.parametrize("place", [*prompts.INDOORS, *prompts.OUTDOORS])
def test_places_look_different(place: str) -> None:
    assert _differ(compose(Scene(place), [], 0), compose(Scene(), [], 0)) > 0.3


@pytest.mark.parametrize("neighbour", prompts.NEIGHBOURS)
def test_neighbours_keep_to_their_column_and_stand_on_their_foot(neighbour: str) -> None:
    canvas = Canvas()
    COMPANIONS[neighbour](canvas, 200, 300, Random(0))
    box = canvas.finish().getchannel("A").getbbox()
    assert box is not None
    left, top, right, bottom = box
    assert 140 <= left < 185
    assert 215 < right <= 260
    assert 40 <= top < 270
    # A kite is in the air.
    assert 225 < bottom <= 304


@pytest.mark.parametrize("neighbour", prompts.NEIGHBOURS)
def test_neighbours_are_in_the_picture_beside_the_references(neighbour: str) -> None:
    alone = np.asarray(compose(Scene(), [], 0), dtype=int)
    # The floor is the same in all plain scenes, so that what differs there is the neighbour.
    apart = np.abs(np.asarray(compose(Scene("", (neighbour,)), [], 0), dtype=int) - alone).max(axis=2)[225:]
    columns = np.flatnonzero((apart > 12).sum(axis=0) > 3)
    assert len(columns) > 8
    assert columns.min() > 318 or columns.max() < SIZE[0] - 318


@pytest.mark.parametrize("place", ["in a library", "on a sandy beach"])
@pytest.mark.parametrize("moment", prompts.MOMENTS)
def test_moments_are_seen_indoors_and_out(place: str, moment: str) -> None:
    by_day = compose(Scene(place), [], 0)
    assert min(_differ(compose(Scene(place, (), moment), [], 0), image) for image in (by_day, _mirrored(by_day))) > 0.015


def _mirrored(image: Image.Image) -> Image.Image:
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)


def test_a_reference_is_set_up_whole_and_unchanged_by_the_light() -> None:
    # Four colours in the corners: all of the reference is there, and neither dusk nor rain falls on it.
    colours = [(250, 0, 0), (0, 250, 0), (0, 0, 250), (250, 0, 250)]
    reference = Image.new("RGB", (80, 40))
    for number, colour in enumerate(colours):
        reference.paste(colour, (number % 2 * 40, number // 2 * 20, number % 2 * 40 + 40, number // 2 * 20 + 20))
    for moment in ("after dark", "during a storm"):
        pixels = np.asarray(compose(Scene("on a stone bridge", ("a piano",), moment), [reference], 1))
        shares = [(pixels == colour).all(axis=2).mean() for colour in colours]
        assert min(shares) > 0.02
        assert max(shares) < 1.3 * min(shares)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9, 40])
def test_every_reference_is_set_up(count: int) -> None:
    colours = [(255, 3 * number, 0) for number in range(count)]
    pixels = np.asarray(compose(Scene("in a kitchen"), [Image.new("RGB", (50, 30), colour) for colour in colours], 0))
    assert all((pixels == colour).all(axis=2).any() for colour in colours)


@pytest.mark.parametrize("size", [(1, 1), (4000, 20), (20, 4000)])
def test_references_of_any_shape_fit(size: tuple[int, int]) -> None:
    pixels = np.asarray(compose(Scene("in a kitchen"), [Image.new("RGB", size, (255, 0, 255))], 0))
    assert (pixels == (255, 0, 255)).all(axis=2).any()


def test_references_in_other_modes_are_taken() -> None:
    assert _draw(PROMPT, [RED.convert("L"), RED.convert("RGBA")]).size == SIZE


def test_an_unknown_prompt_is_a_plain_scene() -> None:
    assert encode(_draw("something else entirely", [RED])) == encode(compose(Scene(), [RED], 0))
