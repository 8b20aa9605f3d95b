from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from wildenv.miniweb.index import Bm25Index, words
from wildenv.miniweb.world import MiniWorld

DOCUMENTS = ["Kator Redulix car", "a rare Notuven thing", "Kator phone", "Kator phone", "Kator Redulix car in 2024"]


def test_rare_words_and_short_documents_rank_first() -> None:
    index = Bm25Index(DOCUMENTS)
    assert index.search("Redulix", 5) == [0, 4]
    assert index.search("notuven, KATOR", 1) == [1]


def test_ties_keep_document_order_also_where_the_list_is_cut() -> None:
    index = Bm25Index(DOCUMENTS)
    assert index.search("phone", 1) == [2]
    assert index.search("phone", 2) == [2, 3]


def test_nothing_in_common_gives_nothing() -> None:
    index = Bm25Index(DOCUMENTS)
    assert index.search("unheard", 5) == []
    assert index.search("", 5) == []
    assert index.search("the of", 5) == []
    assert index.search("Kator", 0) == []


def test_words_are_lower_case_without_stop_words() -> None:
    assert words("The new Kator-X, 2026!") == ["new", "kator", "x", "2026"]


def test_an_index_survives_its_arrays(small_world: MiniWorld) -> None:
    again = Bm25Index.from_arrays(small_world.picture_index.arrays())
    for event in small_world.events[:20]:
        query = f"{event.maker} {event.line} {event.code}"
        assert again.search(query, 20) == small_world.picture_index.search(query, 20) != []


def test_threads_get_the_same_answers(small_world: MiniWorld) -> None:
    queries = [f"{event.maker} {event.edition}" for event in small_world.events]
    alone = [small_world.page_index.search(query, 10) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: small_world.page_index.search(query, 10), queries)) == alone
