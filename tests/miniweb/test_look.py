"""The vocabulary of appearances."""

from itertools import combinations

import pytest

from wildenv.miniweb.look import EMBLEMS, KINDS, PALETTE, PATTERNS, SILHOUETTES, Look

LOOK = Look("car", "van", "red", "yellow", "teal", "stripes", "star", "NOVA")


def test_vocabularies_are_rich_enough_and_made_of_single_words() -> None:
    assert len(KINDS) >= 16
    assert all(len(SILHOUETTES[kind]) >= 2 for kind in KINDS)
    assert 8 <= len(PALETTE) <= 10
    words = [*PALETTE, *PATTERNS, *EMBLEMS, *KINDS, *(s for kind in KINDS for s in SILHOUETTES[kind])]
    assert all(word.isalpha() and word.islower() for word in words)


def test_palette_colours_are_far_apart() -> None:
    for (_, a), (_, b) in combinations(PALETTE.items(), 2):
        assert sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5 > 70


def test_round_trip() -> None:
    assert Look.from_dict(LOOK.to_dict()) == LOOK


def test_differences_name_the_attributes_in_order() -> None:
    other = Look("car", "van", "red", "blue", "teal", "stripes", "ring", "NOVA")
    assert LOOK.differences(other) == ("trim", "emblem")
    assert LOOK.differences(LOOK) == ()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("kind", "spoon", "kind must be one of"),
        ("silhouette", "bowl", "silhouette must be one of sedan"),
        ("main", "mauve", "main must be one of"),
        ("trim", "red", "three different colours"),
        ("accent", "yellow", "three different colours"),
        ("pattern", "tartan", "pattern must be one of"),
        ("emblem", "heart", "emblem must be one of"),
        ("wordmark", "a very long wordmark", "wordmark must be"),
        ("wordmark", "A\nB", "wordmark must be"),
    ],
)
def test_invalid_values_are_refused(name: str, value: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Look.from_dict({**LOOK.to_dict(), name: value})


def test_missing_and_unknown_keys_are_refused() -> None:
    data = LOOK.to_dict()
    del data["trim"]
    with pytest.raises(ValueError, match="exactly the keys"):
        Look.from_dict(data)
    with pytest.raises(ValueError, match="exactly the keys"):
        Look.from_dict({**LOOK.to_dict(), "size": "big"})
