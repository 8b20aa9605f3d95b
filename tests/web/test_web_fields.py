"""Reading JSON that may hold anything."""

from __future__ import annotations

from typing import Any

import pytest

from wildenv.errors import ProviderError, ToolError
from wildenv.web.net.fields import LONGEST_QUERY, address, count, error_status, mapping, query_text, rows, text


@pytest.mark.parametrize(
    ("value", "read"),
    [(" a ", "a"), (7, "7"), (1.5, "1.5"), (True, ""), (None, ""), ([], ""), ({}, ""), ("a\ud800\x00b", "ab"), ("🦁", "🦁")],
)
def test_text(value: Any, read: str) -> None:
    assert text(value) == read
    assert text(value).encode() is not None


@pytest.mark.parametrize(
    ("value", "base", "read"),
    [
        ("https://a.example/b?c=d#e", "", "https://a.example/b?c=d#e"),
        (" http://a.example/a b ", "", "http://a.example/a%20b"),
        ("//cdn.example/x.png", "", "https://cdn.example/x.png"),
        ("//cdn.example/x.png", "http://a.example/page", "http://cdn.example/x.png"),
        ("/x.png", "http://a.example/page", "http://a.example/x.png"),
        ("x.png", "http://a.example/dir/page", "http://a.example/dir/x.png"),
        ("/x.png", "", None),
        ("data:image/png;base64,AAAA", "http://a.example/", None),
        ("javascript:alert(1)", "http://a.example/", None),
        ("ftp://a.example/x", "", None),
        ("http://[broken/", "", None),
        ("http:///x", "", None),
        ("http://a.example/a\nb", "", None),
        ("", "http://a.example/", None),
        (None, "", None),
        (5, "", None),
    ],
)
def test_address(value: Any, base: str, read: str | None) -> None:
    assert address(value, base) == read


@pytest.mark.parametrize(
    ("value", "read"),
    [(0, 0), (7, 7), (10**12, 10**12), (10**12 + 1, None), (10**400, None), (-1, None), (True, None), (1.0, None), ("7", None)],
)
def test_count(value: Any, read: int | None) -> None:
    assert count(value) == read


@pytest.mark.parametrize(
    ("body", "read"),
    [({"code": 503}, 503), ({"code": 200}, None), ({"code": 10**400}, None), ({"code": True}, None), ({}, None), ([], None)],
)
def test_error_status(body: Any, read: int | None) -> None:
    assert error_status(body, "code") == read


def test_rows() -> None:
    assert rows({}, "images", "serper") == []
    assert rows({"images": None}, "images", "serper") == []
    assert rows({"images": [{"a": 1}, None, "x", [], {}]}, "images", "serper") == [{"a": 1}, {}]
    with pytest.raises(ProviderError, match="images is a dict") as raised:
        rows({"images": {}}, "images", "serper")
    assert raised.value.kind == "unexpected reply"


@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_mapping(value: Any) -> None:
    with pytest.raises(ProviderError, match="serper"):
        mapping(value, "serper")


def test_a_query_that_is_too_long_is_the_agents() -> None:
    assert query_text("x" * LONGEST_QUERY) == "x" * LONGEST_QUERY
    with pytest.raises(ToolError, match="2,049 characters"):
        query_text("x" * (LONGEST_QUERY + 1))
