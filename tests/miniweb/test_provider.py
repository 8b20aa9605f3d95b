from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from wildenv.errors import ToolError
from wildenv.images import decode, digest_of, encode
from wildenv.miniweb.provider import SNIPPET, MiniwebProvider, snippet
from wildenv.miniweb.world import MiniWorld
from wildenv.web.providers.base import Provider


def test_it_is_a_provider_named_after_its_content(small_world: MiniWorld) -> None:
    provider = MiniwebProvider(small_world)
    assert isinstance(provider, Provider)
    assert provider.local
    assert small_world.digest[:16] in provider.version


def test_search_is_blind_to_the_cutoff_so_that_the_client_has_something_to_remove(small_world: MiniWorld) -> None:
    provider = MiniwebProvider(small_world)
    task = small_world.tasks("test")[0]
    pages = provider.text_search(small_world.direct_query(task.id), 8, task.cutoff)
    pictures = provider.image_search(small_world.direct_query(task.id), 8, task.cutoff)
    assert len(pages) == len(pictures) == 8
    assert any(hit.published and hit.published > task.cutoff.isoformat() for hit in pages)
    assert any(hit.published and hit.published > task.cutoff.isoformat() for hit in pictures)


def test_the_launch_name_finds_pictures_of_the_launch(small_world: MiniWorld) -> None:
    task = small_world.tasks("test")[1]
    number, event = small_world.event_of(task.id)
    hits = MiniwebProvider(small_world).image_search(event.code, 4, task.cutoff)
    assert {small_world.page(hit.page).event for hit in hits} == {number}
    assert all(event.code in hit.title for hit in hits)


def test_pages_and_pictures_are_served(small_world: MiniWorld) -> None:
    provider = MiniwebProvider(small_world)
    hit = provider.image_search(small_world.events[0].line, 1, None)[0]
    page = provider.fetch_page(hit.page, None)
    assert (page.title, page.text) == (small_world.page(hit.page).title, small_world.page(hit.page).text)
    png = provider.fetch_image(hit.url)
    assert digest_of(encode(decode(png))) == digest_of(png) == small_world.provenance(hit.url).digest


def test_what_does_not_exist_is_the_agents_error(small_world: MiniWorld) -> None:
    provider = MiniwebProvider(small_world)
    with pytest.raises(ToolError, match="no page at"):
        provider.fetch_page("https://nowhere.example/", None)
    with pytest.raises(ToolError, match="no picture at"):
        provider.fetch_image("https://nowhere.example/a.png")


def test_snippets_end_after_a_whole_word() -> None:
    text = "word " * 60
    assert len(snippet(text)) <= SNIPPET + 4
    assert snippet(text).endswith("word ...")
    assert snippet("short\n\ntext") == "short text"


def test_pictures_drawn_in_threads_are_the_same(small_world: MiniWorld) -> None:
    provider = MiniwebProvider(small_world)
    urls = [picture.url for picture in small_world.pictures[:6]] * 3
    with ThreadPoolExecutor(6) as pool:
        drawn = list(pool.map(provider.fetch_image, urls))
    assert drawn[:6] == drawn[6:12] == drawn[12:]
    assert len(set(drawn)) == 6
