"""Reading facts out of sentences."""

from __future__ import annotations

import pytest

from agents.lci.facts import Facts, is_hearsay, read_statement, whole_sentences


@pytest.mark.parametrize(
    ("sentence", "stated"),
    [
        ("The body is teal.", {"main": "teal"}),
        ("It is red with blue trim.", {"main": "red", "trim": "blue"}),
        ("The body is pink and the trim is green.", {"main": "pink", "trim": "green"}),
        ("Details and edges are lime.", {"trim": "lime"}),
        ("Look for an orange hexagon on the badge.", {"accent": "orange", "emblem": "hexagon"}),
        ("Its badge carries a brown cross.", {"accent": "brown", "emblem": "cross"}),
        ("It has a striped pattern in yellow.", {"pattern": "stripes", "trim": "yellow"}),
        ("The designers chose a plain pattern.", {"pattern": "plain"}),
        ("The room was full and the light was bright.", {}),
    ],
)
def test_a_colour_belongs_to_the_part_it_is_said_of(sentence: str, stated: dict[str, str]) -> None:
    assert read_statement(sentence) == stated


def test_statements_about_other_versions_and_years_are_left_out() -> None:
    facts = Facts()
    new = facts.learn(
        "The home version is red instead. Back in 2024 it had a blue body. "
        "Only the cup version comes with lime trim. The body is teal.",
        "[1]",
        ["Kobex"],
        hearsay=False,
    )
    assert (facts.known, new) == ({"main": "teal"}, ["main"])
    assert facts.sources == {"main": "[1]"}


def test_hearsay_is_kept_apart() -> None:
    facts = Facts()
    facts.learn("If the rumour is true, the body is red.", "[1]", [], hearsay=False)
    facts.learn("The body is pink.", "[2]", [], hearsay=True)
    assert facts.known == {}
    assert facts.doubted == {"main": "pink"}


def test_the_first_trusted_statement_stays() -> None:
    facts = Facts()
    facts.learn("The body is teal.", "[1]", [], hearsay=False)
    assert facts.learn("The body is red.", "[2]", [], hearsay=False) == []
    assert facts.known == {"main": "teal"}


@pytest.mark.parametrize(
    ("sentence", "words", "name"),
    [
        ("The team knew the project as Bemaban.", "project as", "Bemaban"),
        ("It was shown to the press at Pavorin Square.", "press at", "Pavorin Square"),
        ("Inside the house the project was called Gasetez.", "was called", "Gasetez"),
    ],
)
def test_the_launch_name_is_read_with_the_words_before_it(sentence: str, words: str, name: str) -> None:
    facts = Facts()
    facts.learn(sentence, "[1]", ["Kobex", "Lamir"], hearsay=False)
    assert (facts.launch_words, facts.launch) == (words, name)


def test_the_things_own_name_is_no_launch_name() -> None:
    facts = Facts()
    facts.learn("Everyone knows it under Lamir.", "[1]", ["Kobex", "Lamir"], hearsay=False)
    assert facts.launch == ""


def test_a_sentence_that_the_snippet_cuts_is_dropped() -> None:
    assert whole_sentences("The body is teal. The emblem is an ...") == "The body is teal."
    assert whole_sentences("The body is teal.") == "The body is teal."
    assert whole_sentences("Cut from the start ...") == ""


def test_hearsay_is_told_by_its_words() -> None:
    assert is_hearsay("Leak: is this the new Lamir?")
    assert not is_hearsay("Kobex launches the new Lamir kit")
