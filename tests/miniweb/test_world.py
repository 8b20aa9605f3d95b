from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from datetime import date, timedelta
from io import BytesIO

import pytest
from PIL import Image

from wildenv.errors import ConfigError, ToolError
from wildenv.images import digest_of, encode
from wildenv.miniweb.config import GENERATOR_VERSION, WorldConfig
from wildenv.miniweb.look import EMBLEMS, PALETTE
from wildenv.miniweb.taxonomy import CATEGORIES, DOMAINS, SUBCATEGORIES
from wildenv.miniweb.world import MiniWorld

TINY = WorldConfig(events=24)
WORD = re.compile(r"[a-z]+")


def words(text: str) -> set[str]:
    return set(WORD.findall(text.lower()))


def test_the_same_settings_give_the_same_world_in_another_process() -> None:
    here = MiniWorld.generate(TINY)
    code = (
        "from wildenv.miniweb.config import WorldConfig\nfrom wildenv.miniweb.world import MiniWorld\n"
        "world = MiniWorld.generate(WorldConfig(events=24))\nimport hashlib\n"
        "print(world.digest, hashlib.sha256(world.png(world.pictures[7].url)).hexdigest())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [here.digest, digest_of(here.png(here.pictures[7].url))]


@pytest.mark.parametrize("change", [{"seed": 1}, {"novelty": 0.1}, {"events": 23}])
def test_every_setting_changes_the_digest(change: dict[str, float]) -> None:
    assert MiniWorld.generate(replace(TINY, **change)).digest != MiniWorld.generate(TINY).digest


@pytest.mark.parametrize("wrong", [{"events": 0}, {"novelty": 1.5}, {"crowding": -0.1}, {"seed": -1}, {"end": date(2026, 6, 1)}])
def test_a_setting_out_of_range_is_named(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="dates" if "end" in wrong else next(iter(wrong))):
        WorldConfig(**wrong)


def test_splits_are_ordered_in_time_and_cover_all_events(small_world: MiniWorld) -> None:
    train, validation, test = (small_world.tasks(split) for split in ("train", "validation", "test"))
    assert len(train) + len(validation) + len(test) == 120
    assert max(t.issued for t in train) < min(t.issued for t in validation)
    assert max(t.issued for t in validation) < min(t.issued for t in test)
    assert {t.issued.month for t in test} == {7}
    with pytest.raises(ConfigError, match="dev"):
        small_world.tasks("dev")


def test_the_default_world_has_more_than_320_test_tasks() -> None:
    config = WorldConfig()
    assert sum(config.split_of(config.day_of(number)) == "test" for number in range(config.events)) > 320


def test_domains_are_those_of_the_paper() -> None:
    assert (len(DOMAINS), len(SUBCATEGORIES)) == (5, 16)
    assert len({category.kind for category in CATEGORIES}) >= 12


def test_prompts_name_the_target_and_not_its_looks(small_world: MiniWorld) -> None:
    for task in small_world.tasks("train"):
        _, event = small_world.event_of(task.id)
        assert not words(task.prompt) & (set(PALETTE) | set(EMBLEMS)), task.prompt
        for name in (event.maker, event.line, event.edition):
            assert name in task.prompt
        assert event.code not in task.prompt
        assert len(task.prompt.split()) <= 40
        assert 2 <= len(task.rubric) <= 3


def test_public_fields_hold_nothing_hidden(small_world: MiniWorld) -> None:
    task = small_world.tasks("test")[0]
    public = str(task.public())
    assert all(digest not in public for digest in task.ground_truth)
    assert small_world.event_of(task.id)[1].code not in public


def test_captions_name_no_colour_and_do_not_tell_versions_of_a_launch_apart(small_world: MiniWorld) -> None:
    for picture in small_world.pictures:
        assert not words(picture.caption) & set(PALETTE), picture.caption
        page = small_world.pages[picture.page]
        event = small_world.events[page.event]
        if page.role in ("official", "news", "fans"):
            assert event.edition not in words(picture.caption.replace(event.code, "").replace(event.line, ""))


def test_target_and_siblings_draw_from_the_same_captions(small_world: MiniWorld) -> None:
    seen: dict[str, set[str]] = {"target": set(), "sibling": set()}
    for picture in small_world.pictures:
        if picture.shot == "press" and small_world.pages[picture.page].role in ("official", "news"):
            entity = small_world.entities[picture.entities[0]]
            event = small_world.events[entity.event]
            noun = small_world.category(event).noun
            text = picture.caption
            for value, slot in ((event.code, "C"), (event.maker, "M"), (event.line, "L"), (noun, "N")):
                text = text.replace(value, slot)
            if entity.role in seen:
                seen[entity.role].add(text)
    assert len(seen["target"]) >= 8
    assert seen["target"] == seen["sibling"]


def test_what_appears_after_the_cutoff_says_so_and_everything_else_appears_before(small_world: MiniWorld) -> None:
    tasks = {
        small_world.event_of(task.id)[0]: task for split in ("train", "validation", "test") for task in small_world.tasks(split)
    }
    late = 0
    for page in small_world.pages:
        cutoff = tasks[page.event].cutoff.isoformat()
        assert (page.day > cutoff) == (page.role == "gallery")
        assert page.published == page.day or (page.published is None and page.day <= cutoff)
    for picture in small_world.pictures:
        cutoff = tasks[small_world.pages[picture.page].event].cutoff.isoformat()
        late += picture.day > cutoff
        assert picture.published == picture.day or (picture.published is None and picture.day <= cutoff)
    assert late >= 2 * len(tasks)
    assert any(picture.published is None for picture in small_world.pictures)
    assert any(page.published is None for page in small_world.pages)


def test_rumours_are_early_hedged_and_wrong(small_world: MiniWorld) -> None:
    rumours = [page for page in small_world.pages if page.role == "rumour"]
    assert len(rumours) > 40
    for page in rumours:
        event = small_world.events[page.event]
        target = small_world.entities[event.target].look
        (rumour,) = [e.look for e in small_world.entities if e.event == page.event and e.role == "rumour"]
        (wrong,) = target.differences(rumour)
        assert wrong in ("main", "trim")
        assert getattr(rumour, wrong) in words(page.text)
        assert getattr(target, wrong) not in words(page.text)
        assert words(page.title + page.text) & {"leak", "rumour", "unconfirmed", "confirmed"}
        days = date.fromisoformat(event.day) - date.fromisoformat(page.day)
        assert timedelta(days=1) <= days <= timedelta(days=20)


def test_official_page_and_news_together_state_every_fact_and_the_code(small_world: MiniWorld) -> None:
    pages: dict[tuple[int, str], str] = {(page.event, page.role): page.text for page in small_world.pages}
    for number, event in enumerate(small_world.events):
        look = small_world.entities[event.target].look
        text = pages[number, "official"] + " " + pages[number, "news"]
        for value in (look.main, look.trim, look.accent, look.emblem):
            assert value in words(text)
        assert event.code in pages[number, "official"]


def test_siblings_differ_and_one_shares_the_main_colour(small_world: MiniWorld) -> None:
    for number, event in enumerate(small_world.events):
        target = small_world.entities[event.target].look
        siblings = [e.look for e in small_world.entities if e.event == number and e.role == "sibling"]
        assert 2 <= len(siblings) <= 4
        assert len(set(siblings)) == len(siblings)
        assert all(1 <= len(target.differences(look)) <= 3 for look in siblings)
        assert any(look.main == target.main for look in siblings)
        assert any(look.main != target.main for look in siblings)


def test_the_ground_truth_is_drawn_again_and_is_on_no_page(small_world: MiniWorld) -> None:
    task = small_world.tasks("test")[3]
    assert task.ground_truth == (digest_of(encode(small_world.ground_truth(task.id))),)
    event = small_world.event_of(task.id)[0]
    shown = [p.url for p in small_world.pictures if small_world.pages[p.page].event == event]
    assert task.ground_truth[0] not in {small_world.provenance(url).digest for url in shown}


def test_provenance_describes_the_picture_that_is_served(small_world: MiniWorld) -> None:
    picture = next(p for p in small_world.pictures if p.shot == "lineup")
    origin = small_world.provenance(picture.url)
    png = small_world.png(picture.url)
    assert origin.digest == digest_of(png)
    assert Image.open(BytesIO(png)).size == origin.size
    assert [seen.entity for seen in origin.depicted] == [small_world.entities[number].id for number in picture.entities]
    assert all(0 <= s.box[0] < s.box[2] <= 1000 and 0 <= s.box[1] < s.box[3] <= 1000 for s in origin.depicted)


def test_pages_carry_their_text_their_pictures_and_their_date(small_world: MiniWorld) -> None:
    number, page = next((n, p) for n, p in enumerate(small_world.pages) if p.role == "official" and p.published)
    html = small_world.page_html(page.url)
    assert page.text.split("\n\n")[0] in html.replace("&amp;", "&").replace("&#x27;", "'")
    assert f'content="{page.published}"' in html
    for picture in small_world.pictures:
        assert (picture.url in html) == (picture.page == number)


def test_addresses_are_unique_and_unknown_ones_are_refused(small_world: MiniWorld) -> None:
    addresses = [p.url for p in small_world.pages] + [p.url for p in small_world.pictures]
    assert len(set(addresses)) == len(addresses)
    for ask in (small_world.picture, small_world.provenance, small_world.page, small_world.page_html, small_world.png):
        with pytest.raises(ToolError, match=re.escape("nowhere.example")):
            ask("https://nowhere.example/x")


@pytest.mark.parametrize("task_id", ["miniweb-00999", "other-00001", "miniweb-x"])
def test_a_task_of_another_world_is_refused(small_world: MiniWorld, task_id: str) -> None:
    with pytest.raises(ConfigError, match=task_id):
        small_world.target(task_id)


def test_the_same_version_gives_the_same_world() -> None:
    """What caches and packs rely on: whoever changes what is generated raises GENERATOR_VERSION, and then this digest."""
    world = MiniWorld.generate(WorldConfig(events=120))
    assert (GENERATOR_VERSION, world.digest[:16]) == (3, "6bc4856c9ab3b4f3")
