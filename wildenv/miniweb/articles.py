"""Writes the pages of an event.

The official page and the news report together state every identity-bearing fact, truly. The rumour states a wrong one. No page
but the gallery, which appears after the cutoff, says which picture shows what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

from wildenv.miniweb import phrases
from wildenv.miniweb.casting import Cast, Member
from wildenv.task import CUTOFF_DAYS

NEWS_HOSTS = ("dailyview", "morningpost", "cityreport")
RUMOUR_HOSTS = ("leakwatch", "insidetalk")
ARCHIVE_HOSTS = ("archiveroom", "backpages")
FANS_HOSTS = ("fanwall", "crowdshots")
GALLERY_HOSTS = ("fullgallery", "pressroom")
FACTS = ("main", "trim", "pattern", "emblem")
SPLITS_OF_FACTS: tuple[tuple[tuple[str, ...], tuple[str, ...], int], ...] = (
    (("main",), ("trim", "pattern", "emblem"), 45),
    (FACTS, ("main", "pattern"), 20),
    (FACTS, (), 15),
    (("trim", "emblem"), ("main", "pattern"), 20),
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A page before it has a number; `published` is what it shows, `day` the truth."""

    role: str
    host: str
    slug: str
    title: str
    text: str
    day: date
    published: str | None


def write_pages(cast: Cast, rng: Random) -> list[Draft]:
    """Writes the pages of an event, in random order."""
    official, news, _ = rng.choices(SPLITS_OF_FACTS, [weight for *_, weight in SPLITS_OF_FACTS])[0]
    drafts = [
        _official(cast, rng, official),
        _news(cast, rng, news),
        _retrospective(cast, rng),
        _namesake(cast, rng),
        _gallery(cast, rng),
    ]
    if cast.rumour is not None:
        drafts.append(_rumour(cast, rng, cast.rumour))
    if rng.random() < 0.6:
        drafts.append(_fans(cast, rng))
    rng.shuffle(drafts)
    return drafts


def _draft(
    cast: Cast, rng: Random, role: str, host: str, titles: Sequence[str], paragraphs: list[list[str]], day: date, undated: float
) -> Draft:
    words = {**cast.words, **({"maker": cast.namesake_maker, "noun": cast.namesake_category.noun} if role == "namesake" else {})}
    text = "\n\n".join(" ".join(part).format(**words) for part in paragraphs if part)
    slug = (cast.code if role == "fans" else cast.line).lower().replace(" ", "-")
    published = None if rng.random() < undated else day.isoformat()
    return Draft(role, host, slug, rng.choice(titles).format(**words), text, day, published)


def _others(cast: Cast, rng: Random, chance: float) -> list[str]:
    """Sentences that tell siblings from the target, each by one attribute in which they differ."""
    sentences = []
    for sibling in cast.siblings:
        if rng.random() < chance:
            differs = set(sibling.look.differences(cast.target.look))
            name = rng.choice([n for n in FACTS if n in differs or (n == "emblem" and "accent" in differs)])
            sentence = rng.choice(phrases.OTHERS[name])
            sentences.append(sentence.format(other=sibling.label, **phrases.slots(sibling.look)))
    return sentences


def _official(cast: Cast, rng: Random, facts: tuple[str, ...]) -> Draft:
    lede = rng.choice(phrases.OFFICIAL_LEDES)
    told = phrases.tell(rng, cast.target.look, facts)
    code = rng.choice(phrases.VENUES if cast.venue else phrases.CODES)
    fill = rng.sample(phrases.OFFICIAL_FILLER, 2)
    if rng.random() < 0.5:  # the snippet holds facts
        paragraphs = [[lede, *told], [code, fill[0]]]
    else:
        paragraphs = [[lede, fill[0]], [fill[1]], [code, *told]]
    paragraphs += [_others(cast, rng, 0.25), rng.sample(phrases.CLOSINGS, 2)]
    host = f"{cast.maker.lower()}.example"
    return _draft(cast, rng, "official", host, phrases.OFFICIAL_TITLES, paragraphs, cast.day, 0.08)


def _news(cast: Cast, rng: Random, facts: tuple[str, ...]) -> Draft:
    fill = rng.sample(phrases.NEWS_FILLER, 3)
    told = phrases.tell(rng, cast.target.look, facts)
    code = [rng.choice(phrases.VENUES if cast.venue else phrases.CODES)] if rng.random() < 0.6 else []
    paragraphs = [[rng.choice(phrases.NEWS_LEDES), fill[0]], [*told, fill[1]], code, _others(cast, rng, 0.4), [fill[2]]]
    day = cast.day + timedelta(days=rng.randint(0, 2))
    host = f"{rng.choice(NEWS_HOSTS)}.example"
    return _draft(cast, rng, "news", host, phrases.NEWS_TITLES, paragraphs, day, 0.1)


def _rumour(cast: Cast, rng: Random, rumour: Member) -> Draft:
    wrong = "main" if rumour.look.main != cast.target.look.main else "trim"
    claims = [wrong] if rng.random() < 0.6 else ["main", "trim"]
    words = {**cast.words, **phrases.slots(rumour.look)}
    told = [rng.choice(phrases.LEAK[name]).format(**words) for name in claims]
    fill = rng.sample(phrases.RUMOUR_FILLER, 3)
    paragraphs = [[fill[0], *told], fill[1:]] if rng.random() < 0.5 else [told, fill]
    day = cast.day - timedelta(days=rng.randint(1, 20))
    host = f"{rng.choice(RUMOUR_HOSTS)}.example"
    return _draft(cast, rng, "rumour", host, phrases.RUMOUR_TITLES, paragraphs, day, 0.15)


def _retrospective(cast: Cast, rng: Random) -> Draft:
    told = [rng.choice(phrases.OLDER).format(year=old.label, **cast.words, **phrases.slots(old.look)) for old in cast.older]
    fill = rng.sample(phrases.RETROSPECTIVE_FILLER, 3)
    day = cast.day - timedelta(days=rng.randint(60, 500))
    host = f"{rng.choice(ARCHIVE_HOSTS)}.example"
    return _draft(cast, rng, "retrospective", host, phrases.RETROSPECTIVE_TITLES, [fill[:2], told, fill[2:]], day, 0.25)


def _namesake(cast: Cast, rng: Random) -> Draft:
    told = phrases.tell(rng, cast.namesake.look, tuple(rng.sample(FACTS, 2)))
    fill = rng.sample(phrases.NAMESAKE_FILLER, 2)
    day = cast.day - timedelta(days=rng.randint(30, 400))
    host = f"{cast.namesake_maker.lower()}.example"
    return _draft(cast, rng, "namesake", host, phrases.NAMESAKE_TITLES, [fill, told], day, 0.2)


def _fans(cast: Cast, rng: Random) -> Draft:
    day = cast.day + timedelta(days=rng.randint(0, 2))
    host = f"{rng.choice(FANS_HOSTS)}.example"
    return _draft(cast, rng, "fans", host, phrases.FANS_TITLES, [rng.sample(phrases.FANS_FILLER, 4)], day, 0.4)


def _gallery(cast: Cast, rng: Random) -> Draft:
    told = phrases.tell(rng, cast.target.look, FACTS)
    day = cast.day + timedelta(days=rng.randint(CUTOFF_DAYS + 1, 20))
    host = f"{rng.choice(GALLERY_HOSTS)}.example"
    return _draft(cast, rng, "gallery", host, phrases.GALLERY_TITLES, [list(phrases.GALLERY_FILLER), told], day, 0.0)
