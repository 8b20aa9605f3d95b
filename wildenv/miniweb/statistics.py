"""How hard a miniweb is, in figures: what its knobs are tuned by and what the README quotes.

The figures describe searches, not policies: a policy may ask better or worse queries. To print them, run
``python -m wildenv.miniweb.statistics``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from wildenv.legibility import View
from wildenv.miniweb.cache import load_world
from wildenv.miniweb.config import WorldConfig
from wildenv.miniweb.provider import snippet
from wildenv.miniweb.records import PictureRecord
from wildenv.miniweb.world import MiniWorld

DESCRIPTIONS: dict[str, str] = {
    "tasks": "tasks looked at",
    "kappa": "mean kappa of a direct query (top 8)",
    "kappa_at_least_half": "share of tasks with kappa >= 0.5",
    "entangled": "share whose target is only in shared frames",
    "direct_misses": "share where the direct query's top 5 has no legible target",
    "code_recall": "share where the launch name's top 5 has a legible target",
    "random_pick": "chance that a random one of the launch name's top 5 is a legible target",
    "facts_in_snippet": "share whose official page shows a fact in its search snippet",
}


def world_statistics(world: MiniWorld, split: str = "test", n: int | None = None) -> dict[str, float]:
    """Measures a split.

    Args:
        world: The world.
        split: ``train``, ``validation`` or ``test``.
        n: How many tasks to look at, from the first; all if None.

    Returns:
        The figures named in `DESCRIPTIONS`.
    """

    tasks = list(world.tasks(split))[:n]
    shown_on: dict[int, list[PictureRecord]] = {}
    for picture in world.pictures:
        for entity in picture.entities:
            shown_on.setdefault(entity, []).append(picture)
    official = {page.event: page for page in world.pages if page.role == "official"}
    sums = dict.fromkeys(DESCRIPTIONS, 0.0)
    for task in tasks:
        number, event = world.event_of(task.id)
        cutoff = task.cutoff
        kappa = world.kappa(task.id)
        visible = [p for p in shown_on[event.target] if p.published is None or p.published <= cutoff.isoformat()]
        direct = [shows(world, p, event.target) for p in world.visible_pictures(world.direct_query(task.id), 5, cutoff)]
        coded = [shows(world, p, event.target) for p in world.visible_pictures(event.code, 5, cutoff)]
        look = world.target(task.id).look
        words = set(snippet(official[number].text).replace(".", " ").replace(",", " ").split())
        sums["tasks"] += 1
        sums["kappa"] += kappa
        sums["kappa_at_least_half"] += kappa >= 0.5
        sums["entangled"] += all(len(p.entities) > 1 for p in visible)
        sums["direct_misses"] += not any(direct)
        sums["code_recall"] += any(coded)
        sums["random_pick"] += sum(coded) / max(1, len(coded))
        sums["facts_in_snippet"] += bool(words & {look.main, look.trim, look.accent})
    return {name: value if name == "tasks" else round(value / len(tasks), 3) for name, value in sums.items()}


def shows(world: MiniWorld, picture: PictureRecord, entity: int) -> bool:
    """Whether a picture shows an entity legibly."""
    if entity not in picture.entities:
        return False
    origin = world.provenance(picture.url)
    boxes = [seen.box for seen in origin.depicted if seen.entity == world.entities[entity].id]
    return any(View.of(box, origin.size).legible(origin.shot) for box in boxes)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the statistics of a world as a table."""
    parser = argparse.ArgumentParser(prog="python -m wildenv.miniweb.statistics", description=main.__doc__)
    parser.add_argument("--split", default="test")
    parser.add_argument("--n", type=int, default=None, help="tasks to look at (all)")
    defaults = WorldConfig()
    for name in ("seed", "events", "novelty", "crowding", "entanglement"):
        value = getattr(defaults, name)
        parser.add_argument(f"--{name}", type=type(value), default=value)
    options = vars(parser.parse_args(arguments))
    split, n = options.pop("split"), options.pop("n")
    world = load_world(WorldConfig(**options), progress=True)
    rows = world_statistics(world, split, n)
    width = max(map(len, DESCRIPTIONS.values()))
    lines = [f"miniweb {split} split, {len(world.events)} events, digest {world.digest[:12]}"]
    lines += [f"{DESCRIPTIONS[name]:<{width}}  {value:g}" for name, value in rows.items()]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
