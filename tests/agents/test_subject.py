"""Reading what a request asks for."""

from __future__ import annotations

import pytest

from agents.subject import Subject, read_subject


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("Draw the new Kobex Lamir away kit on a wooden pier, next to a bicycle.", "Kobex Lamir away kit"),
        ("Show the Pro version of the new Vekin Todo phone in a library, close to a piano.", "Vekin Todo Pro phone"),
        ("Picture this: the Varin Bonevik just came out. I want the mini figure on a bridge.", "Varin Bonevik mini figure"),
        ("Please paint the latest Tusol Masokin sprint race car. It should stand in a street.", "Tusol Masokin sprint race car"),
        ("Make an image by a lake: the Lobex Kotusol studio album presented this week.", "Lobex Kotusol studio album"),
        ("I need a picture of the Zofen Doledor Max phone that was just launched.", "Zofen Doledor Max phone"),
    ],
)
def test_the_name_is_found_wherever_it_stands(prompt: str, name: str) -> None:
    assert sorted(read_subject(prompt).name.split()) == sorted(name.split())


def test_every_prompt_of_the_miniweb_is_read(small_world) -> None:  # type: ignore[no-untyped-def]
    for split in ("train", "validation", "test"):
        for task in small_world.tasks(split):
            assert set(read_subject(task.prompt).name.split()) == set(task.target.split()), task.prompt


def test_a_request_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="no name"):
        read_subject("draw something nice")


def test_a_text_names_the_subject_by_line_and_edition() -> None:
    subject = Subject("Kobex Lamir", "kit", "away")
    assert subject.named_in("The Lamir away kit is official")
    assert not subject.named_in("The Lamir home kit is official")
    assert not subject.named_in("Kobex shows an away kit")
