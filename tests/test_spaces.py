from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from wildenv.spaces import Pictures, Unicode


def _picture(height: int = 4, width: int = 5) -> np.ndarray:
    return np.zeros((height, width, 3), np.uint8)


@pytest.mark.parametrize("text", ["", "hello world", "naïve 中文 😀", '{"a": 1}\n<tool_call>', "x" * 100])
def test_any_text_is_in_the_space(text: str) -> None:
    assert Unicode(100).contains(text)


def test_what_is_not_text_or_too_long_is_not() -> None:
    assert not Unicode(3).contains("four")
    assert not Unicode().contains(b"bytes")
    assert not Unicode().contains(None)


def test_pictures_vary_in_number_and_size() -> None:
    space = Pictures(max_count=2, max_pixels=20)
    assert space.contains(())
    assert space.contains((_picture(), _picture(2, 10)))
    assert not space.contains((_picture(),) * 3)
    assert not space.contains((_picture(5, 5),))
    assert not space.contains([_picture()])
    assert not space.contains((_picture().astype(float),))
    assert not space.contains((_picture()[..., :2],))
    assert not space.contains((_picture(0, 5),))


@pytest.mark.parametrize("space", [Unicode(), Unicode(1), Pictures(3, 100), Pictures(1, 1)])
def test_samples_are_in_the_space_and_follow_the_seed(space: gymnasium.Space) -> None:
    def samples() -> list[object]:
        space.seed(7)
        drawn = [space.sample() for _ in range(20)]
        assert all(space.contains(sample) for sample in drawn)
        return [sample if isinstance(sample, str) else [p.tolist() for p in sample] for sample in drawn]

    first = samples()
    assert first == samples()
    assert any(sample != first[0] for sample in first)
    with pytest.raises(gymnasium.error.Error, match="mask"):
        space.sample(mask=np.ones(1))


def test_equal_spaces_are_equal_and_no_other() -> None:
    assert Unicode(3) == Unicode(3) != Unicode(4)
    assert Pictures(1, 2) == Pictures(1, 2) != Pictures(2, 2)
    assert Unicode() != Pictures(1, 2)
    assert hash(Unicode(3)) == hash(Unicode(3))
    assert hash(Pictures(1, 2)) == hash(Pictures(1, 2))
    assert not Unicode().is_np_flattenable
    assert not Pictures(1, 2).is_np_flattenable
    assert repr(Unicode(3)) == "Unicode(max_length=3)"
    assert repr(Pictures(1, 2)) == "Pictures(max_count=1, max_pixels=2)"


@pytest.mark.parametrize("space", [Unicode(), Pictures(1, 2)])
def test_shared_memory_has_no_form_for_them(space: gymnasium.Space) -> None:
    with pytest.raises(gymnasium.error.CustomSpaceError):
        gymnasium.vector.utils.create_shared_memory(space, n=2)
