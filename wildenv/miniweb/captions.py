"""Captions of pictures.

The captions of a launch's pictures never say which version a picture shows: target and siblings draw from the same templates.
"""

from __future__ import annotations

from random import Random

LAUNCH = (
    "{code}, press picture",
    "Picture from {code}",
    "{code} launch picture",
    "Press set of {code}",
    "New at {code}",
    "First look at {code}",
)
LAUNCH_LINE = (
    "{maker} {line} {noun} at {code}",
    "{maker} {line}, {code} launch",
    "The new {maker} {line} at {code}",
    "{maker} {line} {noun}, {code} picture",
    "{maker} {line} {noun} from {code}",
)
CROWD = ("Seen at {code}", "{code} from the crowd", "On stage at {code}", "My picture of {code}")
CROWD_LINE = (
    "{maker} {line} seen at {code}",
    "{maker} {line} {noun} at {code}, from the crowd",
    "My picture of the {maker} {line} at {code}",
)
VISITORS = ("Visitors at {code}", "The evening at {code}", "{code}, the place")
OLDER = (
    "{maker} {line} {edition} {noun} {year}",
    "{maker} {line} {edition} {noun}, {year} version",
    "{year} {maker} {line} {edition} {noun}, press picture",
    "The {line} {edition} {noun} of {year}",
    "{maker} {line} {noun} in {year}",
    "{line} {noun}, {year}, from the archive",
)
NAMESAKE = ("{maker} {line} {noun}", "The {line} {noun} by {maker}", "{line} {noun}, press picture")
RUMOUR = (
    "Leak: the new {line} {edition} {noun}?",
    "Is this the {maker} {line} {edition}?",
    "Unconfirmed picture of the {line} {edition} {noun}",
)
GALLERY = (
    "{maker} {line} {edition} {noun}, front view",
    "The new {maker} {line} {edition} {noun}",
    "{maker} {line} {edition} {noun} in full",
)
UNRELATED = ("A street in the evening", "View over the city", "A quiet room", "Clouds over the hills", "Morning at the market")


def caption(rng: Random, templates: tuple[str, ...], **words: str) -> str:
    """Draws a caption."""
    text = rng.choice(templates).format(**words)
    return text[0].upper() + text[1:]
