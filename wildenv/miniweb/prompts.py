"""The request of a task: it names the target and asks for a new scene, and says nothing about how the target looks."""

from __future__ import annotations

from random import Random

INDOORS = (
    "in a library",
    "in a train station",
    "in a small bakery",
    "in a school gym",
    "in an old theater",
    "in a kitchen",
    "in a workshop",
)
OUTDOORS = (
    "on a wooden pier",
    "on a snowy hill",
    "on a sandy beach",
    "in a market street",
    "in a forest clearing",
    "by a mountain lake",
    "on a stone bridge",
    "on a flat rooftop",
    "in a flower field",
    "in front of a castle",
)
NEIGHBOURS = (
    "a bicycle",
    "a sleeping cat",
    "a stack of books",
    "a street lamp",
    "a paper kite",
    "a wooden chair",
    "a fruit basket",
    "a big clock",
    "a small dog",
    "a barrel",
    "an umbrella",
    "a piano",
    "a suitcase",
    "a fountain",
)
MOMENTS = (
    "at sunrise",
    "at sunset",
    "after dark",
    "in light rain",
    "in thick fog",
    "in falling snow",
    "under a full moon",
    "during a storm",
    "in bright sunshine",
    "under a cloudy sky",
)
TEMPLATES = (
    "Draw the new {name} {place}, next to {neighbour}{moment}.",
    "I need a picture of the {name} that was just launched: show it {place} with {neighbour} beside it{moment}.",
    "Show the {edition} version of the new {maker} {line} {noun} {place}, close to {neighbour}{moment}.",
    "Please paint the latest {name}. It should stand {place}, and {neighbour} should be next to it{moment}.",
    "Make an image {place}{moment}: the {name} presented this week, with {neighbour} at its side.",
    "Picture this: the {maker} {line} just came out. I want the {edition} {noun} {place}, beside {neighbour}{moment}.",
)


def draw_prompt(rng: Random, outdoors: bool, **words: str) -> tuple[str, tuple[str, ...]]:
    """Draws a prompt and its conditions.

    Args:
        rng: Where it is drawn from.
        outdoors: Whether the target is too large for a room.
        words: ``maker``, ``line``, ``edition`` and ``noun`` of the target.

    Returns:
        The prompt, and two or three context criteria, one sentence each.
    """
    place = rng.choice(OUTDOORS if outdoors or rng.random() < 0.5 else INDOORS)
    neighbour = rng.choice(NEIGHBOURS)
    moment = rng.choice(MOMENTS) if rng.random() < 0.7 else ""
    name = "{maker} {line} {edition} {noun}".format(**words)
    prompt = rng.choice(TEMPLATES).format(
        name=name, place=place, neighbour=neighbour, moment=f" {moment}" if moment else "", **words
    )
    rubric = [f"The {words['noun']} is {place}.", f"There is {neighbour} next to the {words['noun']}."]
    if moment:
        rubric.append(f"The scene is set {moment}.")
    return prompt, tuple(rubric)
