from __future__ import annotations

import pytest

from wildenv.generators.scene import MAX_NEIGHBOURS, Scene, scene_of
from wildenv.miniweb.prompts import INDOORS, MOMENTS, NEIGHBOURS, OUTDOORS
from wildenv.miniweb.world import MiniWorld


@pytest.mark.parametrize("place", [*INDOORS, *OUTDOORS])
def test_every_place_is_read_in_a_request_and_alone(place: str) -> None:
    assert scene_of(f"Draw the new Acme cup {place}, next to something.").place == place
    assert scene_of(place.upper()) == Scene(place=place)


@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_every_neighbour_is_read(neighbour: str) -> None:
    assert scene_of(f"There is {neighbour} next to the cup.") == Scene(neighbours=(neighbour,))


@pytest.mark.parametrize("moment", MOMENTS)
def test_every_moment_is_read(moment: str) -> None:
    assert scene_of(f"The scene is set {moment}.") == Scene(moment=moment)


def test_other_articles_and_prepositions_are_read_too() -> None:
    scene = scene_of("Inside the old theater, during the storm,\n the bicycle leans on it")
    assert scene == Scene("in an old theater", ("a bicycle",), "during a storm")


@pytest.mark.parametrize("text", ["the storm hovercraft", "the Acme moon watch", "street sneaker", "marketing", "a catalog", ""])
def test_words_that_only_resemble_say_nothing(text: str) -> None:
    assert scene_of(text) == Scene()


def test_of_several_places_and_moments_the_first_counts() -> None:
    scene = scene_of("on a wooden pier in a kitchen at sunset at sunrise")
    assert (scene.place, scene.moment) == ("on a wooden pier", "at sunset")


def test_naming_everything_shows_little() -> None:
    scene = scene_of(" ".join([*OUTDOORS, *INDOORS, *NEIGHBOURS, *MOMENTS]))
    assert scene == Scene(OUTDOORS[0], NEIGHBOURS[:MAX_NEIGHBOURS], MOMENTS[0])


SCENE = Scene("in a kitchen", ("a barrel", "a piano"), "at sunset")


@pytest.mark.parametrize("wanted", [SCENE, Scene("in a kitchen"), Scene("", ("a piano",)), Scene(moment="at sunset")])
def test_a_scene_shows_what_it_names(wanted: Scene) -> None:
    assert SCENE.shows(wanted)


@pytest.mark.parametrize("wanted", [Scene("in a library"), Scene("", ("an umbrella",)), Scene(moment="at sunrise"), Scene()])
def test_a_scene_shows_nothing_else(wanted: Scene) -> None:
    assert not SCENE.shows(wanted)


def test_indoors() -> None:
    assert [Scene(place).indoors for place in ("in a kitchen", "on a wooden pier", "")] == [True, False, False]


def test_requests_and_rubrics_of_the_miniweb_name_the_same_scene(small_world: MiniWorld) -> None:
    tasks = [task for split in ("train", "validation", "test") for task in small_world.tasks(split)]
    for task in tasks:
        scene = scene_of(task.prompt)
        criteria = [scene_of(criterion) for criterion in task.rubric]
        assert scene == scene_of(" ".join(task.rubric)), task.prompt
        assert scene.place
        assert len(scene.neighbours) == 1
        assert bool(scene.moment) == (len(criteria) == 3)
        assert all(scene.shows(criterion) for criterion in criteria)
