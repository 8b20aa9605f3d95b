"""What kinds of event there are: the paper's 5 domains and 16 subcategories (Savanna, appendix C), as drawable things."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Category:
    """One kind of thing within a subcategory.

    Attributes:
        domain: One of the paper's domains.
        subcategory: One of its subcategories.
        kind: The `look.KINDS` entry that is drawn.
        noun: What articles and prompts call it.
        maker: What articles call whoever makes it.
        editions: Names of the versions a line comes in.
        outdoors: Whether it is too large for a room.
    """

    domain: str
    subcategory: str
    kind: str
    noun: str
    maker: str
    editions: tuple[str, ...]
    outdoors: bool = False


def _editions(words: str) -> tuple[str, ...]:
    return tuple(words.split())


CATEGORIES: tuple[Category, ...] = (
    Category("Entertainment", "Film & TV", "costume", "costume", "studio", _editions("hero captain guardian royal stunt")),
    Category("Entertainment", "Film & TV", "poster", "poster", "studio", _editions("teaser final premiere cinema festival")),
    Category("Entertainment", "Anime", "character", "mascot", "studio", _editions("pilot ranger wizard junior master")),
    Category("Entertainment", "Games", "hovercraft", "hovercraft", "studio", _editions("scout racer cargo arena storm"), True),
    Category("Entertainment", "Games", "costume", "skin", "studio", _editions("hunter champion legend knight rogue")),
    Category("Entertainment", "Collectibles", "figure", "figure", "toymaker", _editions("deluxe classic battle mini bonus")),
    Category("Entertainment", "Music", "album", "album", "label", _editions("deluxe studio live acoustic tour")),
    Category("Sports", "General Sports", "jersey", "kit", "club", _editions("home away third keeper cup")),
    Category("Sports", "General Sports", "trophy", "trophy", "league", _editions("junior senior masters winter open")),
    Category("Sports", "Motorsport", "racecar", "race car", "team", _editions("sprint endurance rally hill night"), True),
    Category("Sports", "Motorsport", "helmet", "helmet", "team", _editions("sprint rookie veteran night street")),
    Category("Fashion", "Celebrities", "gown", "gown", "designer", _editions("gala premiere opera garden dinner")),
    Category("Fashion", "Collections", "handbag", "handbag", "house", _editions("resort runway evening travel market")),
    Category("Fashion", "Collections", "sneaker", "sneaker", "house", _editions("court trail studio street club")),
    Category("Fashion", "Watches & Jewelry", "watch", "watch", "house", _editions("diver pilot dress racing moon")),
    Category("Products", "Tech", "phone", "phone", "company", _editions("Pro Max Lite Mini Air")),
    Category("Products", "Tech", "headset", "headset", "company", _editions("Pro Studio Lite Arena Air")),
    Category("Products", "Automobiles", "car", "car", "company", _editions("Sport Touring City Cross Base"), True),
    Category(
        "Products", "Aviation & Space", "airliner", "airliner", "airline", _editions("coastal polar island night capital"), True
    ),
    Category("Products", "Aviation & Space", "rocket", "rocket", "agency", _editions("cargo crew lunar test orbit"), True),
    Category("Products", "Consumer Goods", "bottle", "bottle", "brand", _editions("summer winter family sport travel")),
    Category("Culture", "Art", "sculpture", "sculpture", "gallery", _editions("garden harbor museum plaza river"), True),
    Category("Culture", "Architecture", "stadium", "stadium model", "office", _editions("north south east west central")),
)
DOMAINS: tuple[str, ...] = tuple(dict.fromkeys(category.domain for category in CATEGORIES))
SUBCATEGORIES: tuple[str, ...] = tuple(dict.fromkeys(category.subcategory for category in CATEGORIES))
BY_SUBCATEGORY: dict[str, tuple[Category, ...]] = {
    name: tuple(category for category in CATEGORIES if category.subcategory == name) for name in SUBCATEGORIES
}
