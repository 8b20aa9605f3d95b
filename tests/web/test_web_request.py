from __future__ import annotations

import subprocess
from collections.abc import Callable
from datetime import date

import pytest

from wildenv.errors import DataError
from wildenv.web.request import WebRequest


def make(query: str = "teal racer", **fields: object) -> WebRequest:
    values = {"tool": "text_search", "provider": "fake", "version": "1", "params": {"query": query, "limit": 20}}
    return WebRequest(**{**values, "cutoff": date(2026, 7, 4), **fields})  # type: ignore[arg-type]


def test_key_is_pinned() -> None:
    """A changed key would orphan every recorded pack."""
    assert make().canonical() == (
        '{"cutoff":"2026-07-04","extractor":"","params":{"limit":20,"query":"teal racer"},'
        '"provider":"fake","tool":"text_search","version":"1"}'
    )
    assert make().key == "43cfc5599e9b46deeabc3fcd6459d511fbf1b49de168078fe5d3b5975c448098"


def test_key_is_the_same_in_another_process(run_python: Callable[..., subprocess.Popen[str]]) -> None:
    script = (
        "from datetime import date\nfrom wildenv.web.request import WebRequest\n"
        "params = {'limit': 20, 'query': 'teal racer'}\n"
        "print(WebRequest('text_search', 'fake', '1', params, date(2026, 7, 4)).key)"
    )
    out, err = run_python(script).communicate(timeout=60)
    assert out.strip() == make().key, err


@pytest.mark.parametrize(
    ("one", "other"),
    [("teal  racer", "teal racer"), (" teal racer\n", "teal racer"), ("caf\u00e9", "cafe\u0301"), ("a\u3000b", "a b")],
)
def test_equal_queries_have_one_key(one: str, other: str) -> None:
    assert make(one).key == make(other).key


def test_order_of_parameters_is_irrelevant() -> None:
    assert make(params={"a": 1, "query": "x"}).key == make(params={"query": "x", "a": 1}).key


@pytest.mark.parametrize(
    "change",
    [
        {"tool": "image_search"},
        {"provider": "other"},
        {"version": "2"},
        {"params": {"query": "teal racer", "limit": 19}},
        {"params": {"query": "Teal racer", "limit": 20}},
        {"cutoff": date(2026, 7, 5)},
        {"cutoff": None},
        {"extractor": "trafilatura 2"},
    ],
)
def test_every_field_enters_the_key(change: dict[str, object]) -> None:
    assert make(**change).key != make().key


def test_address_is_left_as_it_is() -> None:
    assert WebRequest("fetch_page", "f", "1", {"url": "https://a.example/x  y"}).params["url"] == "https://a.example/x  y"


def test_difference_names_fields_and_both_values() -> None:
    other = make("teal racer 2", cutoff=None)
    assert make().difference(other) == {
        "cutoff": ("2026-07-04", None),
        "params.query": ("teal racer", "teal racer 2"),
    }
    assert make().difference(make("teal   racer")) == {}


def test_reads_back_and_refuses_what_is_no_request() -> None:
    assert WebRequest.from_dict(make().to_dict()) == make()
    with pytest.raises(DataError, match="cutoff"):
        WebRequest.from_dict({"tool": "text_search"})


def test_parameters_cannot_be_changed() -> None:
    params = {"query": "x"}
    request = make(params=params)
    params["query"] = "y"
    assert request.params["query"] == "x"
    with pytest.raises(TypeError):
        request.params["query"] = "y"  # type: ignore[index]


def test_lone_surrogates_have_a_key() -> None:
    assert len(make("broken \ud83d").key) == 64
