from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from wildenv.errors import GeneratorError
from wildenv.generators.base import Generator
from wildenv.generators.cached import NAMESPACE, CachedGenerator
from wildenv.images import encode
from wildenv.web.store import Store

RED, BLUE = Image.new("RGB", (20, 10), "red"), Image.new("RGB", (10, 20), "blue")


class Moody:
    """Draws something else every time."""

    def __init__(self, id: str = "moody-1", failing: bool = False, needs_references: bool = False) -> None:
        self.id = id
        self.needs_references = needs_references
        self.drawn = 0
        self.failing = failing

    async def generate(self, prompt: str, references: Sequence[Image.Image], seed: int) -> Image.Image:
        self.drawn += 1
        if self.failing:
            raise GeneratorError("moody-1 does not feel like it")
        return Image.new("RGB", (8, 8), (self.drawn, 0, 0))


def _draw(generator: Generator, prompt: str = "p", references: Sequence[Image.Image] = (RED,), seed: int = 0) -> bytes:
    return encode(asyncio.run(generator.generate(prompt, references, seed)))


def test_a_picture_is_drawn_once_and_is_the_same_in_a_later_run(tmp_path: Path) -> None:
    moody = Moody()
    with Store(tmp_path / "drawn.sqlite") as store:
        cached = CachedGenerator(moody, store)
        assert cached.id == "moody-1"
        first = _draw(cached)
        assert _draw(cached) == first
    assert moody.drawn == 1
    with Store(tmp_path / "drawn.sqlite") as store:
        assert _draw(CachedGenerator(Moody(failing=True), store)) == first
        assert store.counts() == {NAMESPACE: 1}


def test_prompt_references_order_seed_and_generator_are_told_apart() -> None:
    moody, store = Moody(), Store.memory()
    cached = CachedGenerator(moody, store)
    pictures = {
        _draw(cached),
        _draw(cached, "q"),
        _draw(cached, references=(BLUE,)),
        _draw(cached, references=(RED, BLUE)),
        _draw(cached, references=(BLUE, RED)),
        _draw(cached, references=()),
        _draw(cached, seed=1),
    }
    assert len(pictures) == moody.drawn == 7
    other = Moody("moody-2")
    _draw(CachedGenerator(other, store))
    assert other.drawn == 1


def test_failures_are_not_kept() -> None:
    moody = Moody(failing=True)
    cached = CachedGenerator(moody, Store.memory())
    for _ in range(2):
        with pytest.raises(GeneratorError, match="does not feel like it"):
            _draw(cached)
    assert (moody.drawn, len(cached.store)) == (2, 0)


def test_a_store_that_is_read_only_never_asks(tmp_path: Path) -> None:
    path = tmp_path / "drawn.sqlite"
    with Store(path) as store:
        kept = _draw(CachedGenerator(Moody(), store))
    moody = Moody()
    with Store(path, read_only=True) as store:
        cached = CachedGenerator(moody, store)
        assert _draw(cached) == kept
        with pytest.raises(GeneratorError, match=r"generator\.replay=false"):
            _draw(cached, "another")
    assert moody.drawn == 0


def test_a_damaged_picture_is_said_to_be() -> None:
    store = Store.memory()
    cached = CachedGenerator(Moody(), store)
    _draw(cached)
    (key, request), *_ = store.requests(NAMESPACE)
    store.put(NAMESPACE, key, request, {"picture": "gone"})
    with pytest.raises(GeneratorError, match=r"damaged .*use another generator\.store"):
        _draw(cached)


def test_what_the_generator_takes_is_known_of_the_cache() -> None:
    moody = Moody()
    moody.max_references = 3  # type: ignore[attr-defined]
    assert CachedGenerator(moody, Store.memory()).max_references == 3
    assert CachedGenerator(Moody(), Store.memory()).max_references is None
    assert [CachedGenerator(Moody(needs_references=needs), Store.memory()).needs_references for needs in (True, False)] == [
        True,
        False,
    ]
