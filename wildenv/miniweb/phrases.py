"""How the articles say what a thing looks like, and everything else they say.

The stock of words is small on purpose. Colour names occur in sentences about looks only, so that no filler hints at a look.
"""

from __future__ import annotations

from random import Random

from wildenv.miniweb.look import Look

MAIN = (
    "The main colour is {main}.",
    "The body is {main}.",
    "Most of the surface is {main}.",
    "The base colour is {main}.",
    "Its body comes in {main}.",
)
TRIM = (
    "The trim is {trim}.",
    "The trim comes in {trim}.",
    "Details and edges are {trim}.",
    "The trim and the small parts are {trim}.",
)
EMBLEM = (
    "The emblem is {accent} {emblem}.",
    "The badge shows {accent} {emblem}.",
    "Look for {accent} {emblem} on the badge.",
    "Its badge carries {accent} {emblem}.",
)
PATTERN = (
    "The pattern is {pattern}.",
    "It has a {patterned} pattern.",
    "The designers chose a {patterned} pattern.",
)
MAIN_TRIM = ("It is {main} with {trim} trim.", "The body is {main} and the trim is {trim}.")
TRIM_PATTERN = ("It has a {patterned} pattern in {trim}.", "The trim is {trim}, in a {patterned} pattern.")
PATTERNED = {
    "plain": "plain",
    "stripes": "striped",
    "hoops": "hooped",
    "checks": "checked",
    "dots": "dotted",
    "halves": "halved",
    "sash": "sash",
    "chevron": "chevron",
}
OTHERS = {
    "main": ("The {other} version is {main} instead.", "Do not mix it up with the {other} version, which is {main}."),
    "trim": ("The {other} version has {trim} trim instead.", "Only the {other} version comes with {trim} trim."),
    "pattern": ("The {other} version has a {patterned} pattern instead.", "Only the {other} version has a {patterned} pattern."),
    "emblem": ("The {other} version carries {accent} {emblem} instead.", "Only the {other} version shows {accent} {emblem}."),
}
LEAK = {
    "main": (
        "A leak says that the {line} {edition} will be {main}.",
        "If the rumour is true, the body is {main}.",
        "An unconfirmed source speaks of {a_main} body.",
    ),
    "trim": (
        "A leak says that the trim will be {trim}.",
        "If the rumour is true, the trim is {trim}.",
        "An unconfirmed source speaks of {trim} trim.",
    ),
}
OLDER = (
    "The {year} version was {main} with {trim} trim.",
    "In {year} the {line} {edition} was {main}, with {trim} details.",
    "Back in {year} it had {a_main} body and {trim} trim.",
)

OFFICIAL_TITLES = (
    "{maker} presents the {line} {edition} {noun}",
    "The {line} {edition} {noun} is official",
    "{maker} launches the new {line} {edition} {noun}",
    "Meet the {line} {edition} {noun} by {maker}",
)
OFFICIAL_LEDES = (
    "Today {maker} presents the {line} {edition} {noun}.",
    "The {maker} {line} {edition} {noun} is here.",
    "{maker} is proud to show the {line} {edition} {noun}.",
    "The wait for the {line} {edition} {noun} is over.",
)
OFFICIAL_FILLER = (
    "After two years of work, the team opened its doors to the press and showed the result to the world for the first time.",
    "Guests from many cities came to the launch, and a long line of visitors waited outside since the early morning.",
    "The people behind the project thanked everyone who took part, from the first sketch to the last day of testing.",
    "It follows a series of versions that won the hearts of a large public, and it takes their story one step further.",
    "The head of the {made_by} spoke about the long road to this day and about the many small changes on the way.",
    "Every part was looked at again, and the team says that nothing was left to chance in the making of this version.",
)
CODES = (
    "Inside the {made_by} the project was called {code}.",
    "The launch carried the name {code}.",
    "All pictures of the launch are filed under {code}.",
    "The team knew the project as {code}.",
)
VENUES = (
    "The launch took place at {code}.",
    "It was shown to the press at {code}.",
    "The first pictures were taken at {code}.",
    "Guests saw it for the first time at {code}.",
)
CLOSINGS = (
    "Sales start next month.",
    "More will follow in the coming weeks.",
    "The price was not named.",
    "The number of pieces is small.",
    "A tour through six cities is planned.",
    "Visitors can see it until the end of the season.",
    "The next version is planned for next year.",
    "Orders open on Monday.",
)
NEWS_TITLES = (
    "{maker} shows the {line} {edition}: what we know",
    "First report on the {maker} {line} {edition} {noun}",
    "The new {line} {edition} {noun} seen up close",
    "{line} {edition}: our report from the launch",
)
NEWS_LEDES = (
    "We saw the new {maker} {line} {edition} {noun} up close.",
    "The {line} {edition} {noun} by {maker} was the talk of the day.",
    "Our reporter looked at the {line} {edition} {noun} for an hour.",
    "{maker} let the press walk around the {line} {edition} {noun}.",
)
NEWS_FILLER = (
    "The room was full and the light was bright.",
    "Several versions stood side by side, and it was easy to mix them up.",
    "Pictures in the search results often show older versions.",
    "The first reactions were warm.",
    "A short film opened the evening.",
    "Many visitors took pictures of every version.",
    "The music stopped when the cover came off.",
    "Some early leaks turned out to be wrong.",
)
RUMOUR_TITLES = (
    "Leak: is this the new {maker} {line} {edition}?",
    "Rumour: the {line} {edition} {noun} before its launch",
    "What an unconfirmed source says about the {line} {edition}",
)
RUMOUR_FILLER = (
    "Nothing here is confirmed by the {made_by}.",
    "We could not check the picture that was sent to us.",
    "The launch of the {maker} {line} {edition} {noun} is expected soon.",
    "The source was wrong before.",
    "Take this with care.",
)
RETROSPECTIVE_TITLES = (
    "Looking back at the {maker} {line} {edition} {noun}",
    "A short history of the {line} {edition} {noun}",
    "All versions of the {maker} {line} {edition} so far",
)
RETROSPECTIVE_FILLER = (
    "The {maker} {line} {edition} {noun} has a long history.",
    "Collectors still look for the early versions.",
    "Each year brought a new design.",
    "A new version may come one day.",
    "We looked through our archive of old pictures.",
)
NAMESAKE_TITLES = ("{maker} {line} {noun}", "The {line} {noun} by {maker}", "{maker} and its {line} {noun}")
NAMESAKE_FILLER = (
    "The {line} {noun} by {maker} has been around for some time.",
    "It shares its name with other things, but this one is the {noun}.",
    "It is sold in many shops.",
    "Its makers are a small team.",
)
FANS_TITLES = ("Pictures from {code}", "Our day at {code}", "{code} seen from the crowd")
FANS_FILLER = (
    "We were at {code} and took pictures of everything.",
    "The crowd was large and the day was long.",
    "Send us your own pictures.",
    "We do not know the name of every version we saw.",
    "It was hard to get close.",
)
GALLERY_TITLES = ("Full gallery: {maker} {line} {edition} {noun}", "All pictures of the {maker} {line} {edition} {noun}")
GALLERY_FILLER = ("Here are all pictures of the {maker} {line} {edition} {noun}.", "Every side is shown in clear light.")


def a(word: str) -> str:
    """Returns the word after its indefinite article."""
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def slots(look: Look) -> dict[str, str]:
    """Returns what the sentences about a look are filled with."""
    pattern = {"sash": "a sash", "chevron": "a chevron"}.get(look.pattern, look.pattern)
    return {
        "main": look.main,
        "a_main": a(look.main),
        "trim": look.trim,
        "accent": a(look.accent),
        "emblem": look.emblem,
        "pattern": pattern,
        "patterned": PATTERNED[look.pattern],
    }


def tell(rng: Random, look: Look, attributes: tuple[str, ...]) -> list[str]:
    """Returns sentences that state the named attributes ("emblem" includes the accent colour), now and then two in one."""
    words, left, sentences = slots(look), list(attributes), []
    if {"main", "trim"} <= set(left) and rng.random() < 0.4:
        sentences.append(rng.choice(MAIN_TRIM).format(**words))
        left = [name for name in left if name not in ("main", "trim")]
    elif {"trim", "pattern"} <= set(left) and look.pattern != "plain" and rng.random() < 0.4:
        sentences.append(rng.choice(TRIM_PATTERN).format(**words))
        left = [name for name in left if name not in ("trim", "pattern")]
    banks = {"main": MAIN, "trim": TRIM, "pattern": PATTERN, "emblem": EMBLEM}
    return sentences + [rng.choice(banks[name]).format(**words) for name in left]
