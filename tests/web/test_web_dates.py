from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from wildenv.web.dates import is_relative, parse_published, published_span

THIRD = date(2026, 7, 3)
REFERENCE = date(2026, 7, 10)

ONE_DAY = [
    "2026-07-03",
    "2026-7-3",
    "2026/07/03",
    "2026.07.03",
    "20260703",
    "2026-07-03T23:30:00Z",
    "2026-07-03T23:30:00.123-05:00",
    "2026-07-03 08:15:00+0200",
    "20260703T101500Z",
    "Fri, 03 Jul 2026 10:00:00 GMT",
    "03 Jul 2026 10:00:00 +0200",
    "Fri Jul  3 10:00:00 2026",
    "03-Jul-2026",
    "Jul 3, 2026",
    "JUL 3 2026",
    "July 3rd, 2026",
    "Friday, July 3, 2026 at 10:30 AM EST",
    "3 July 2026",
    "3rd of July, 2026",
    "Published: 3 July 2026",
    "3. Juli 2026",
    "Freitag, den 3. Juli 2026, 14:05 Uhr",
    "3 juillet 2026",
    "ven. 3 juil. 2026",
    "3 de julio de 2026",
    "viernes, 3 de julio del 2026",
    "3 jul 2026",
    "3 luglio 2026",
    "venerdì 3 lug 2026",
    "3 de julho de 2026",
    "3 juli 2026",
    "2026年7月3日",
    "2026年07月03日 10:20",
    "2026 年 7 月 3 日",
    "２０２６年７月３日",
    "2026년 7월 3일",
    "03.07.2026",
    "3. 7. 2026",
]

OTHER_DAYS = [
    ("25/12/2026", date(2026, 12, 25)),
    ("12/25/2026", date(2026, 12, 25)),
    ("05/05/2026", date(2026, 5, 5)),
    ("1er août 2026", date(2026, 8, 1)),
    ("mar. 14 févr. 2026", date(2026, 2, 14)),
    ("24. Dezember 2025", date(2025, 12, 24)),
    ("5. März 2026", date(2026, 3, 5)),
    ("31 enero 2026", date(2026, 1, 31)),
    ("15 ago 2026", date(2026, 8, 15)),
    ("1º de março de 2026", date(2026, 3, 1)),
    ("2 dicembre 2026", date(2026, 12, 2)),
    ("29 February 2024", date(2024, 2, 29)),
]

NO_ONE_DAY = [
    None,
    "",
    "   ",
    "2026",
    "July 2026",
    "juillet 2026",
    "2026-07",
    "07/2026",
    "2026年7月",
    "03/04/2026",
    "3-4-2026",
    "03/04/26",
    "Jul 3",
    "Friday",
    "30 February 2026",
    "2026-13-01",
    "99/99/2026",
    "Published Jul 3, 2026, updated Jul 9, 2026",
    "call +1 202 607 0312",
    "3 days ago",
    "yesterday",
    "5 hours ago",
    "soon",
]

RELATIVE = [
    ("3 days ago", date(2026, 7, 7)),
    ("1 day ago", date(2026, 7, 9)),
    ("a day ago", date(2026, 7, 9)),
    ("vor 3 Tagen", date(2026, 7, 7)),
    ("vor einem Tag", date(2026, 7, 9)),
    ("il y a 3 jours", date(2026, 7, 7)),
    ("hace 3 días", date(2026, 7, 7)),
    ("3 giorni fa", date(2026, 7, 7)),
    ("há 3 dias", date(2026, 7, 7)),
    ("3天前", date(2026, 7, 7)),
    ("3 日前", date(2026, 7, 7)),
    ("5 hours ago", date(2026, 7, 10)),
    ("56 mins ago", date(2026, 7, 10)),
    ("2 weeks ago", date(2026, 6, 26)),
    ("yesterday", date(2026, 7, 9)),
    ("gestern", date(2026, 7, 9)),
    ("today", date(2026, 7, 10)),
]


@pytest.mark.parametrize("text", ONE_DAY)
def test_the_third_of_july(text: str) -> None:
    assert parse_published(text) == THIRD


@pytest.mark.parametrize(("text", "day"), OTHER_DAYS)
def test_other_days(text: str, day: date) -> None:
    assert parse_published(text) == day


@pytest.mark.parametrize("text", NO_ONE_DAY)
def test_not_one_day(text: str | None) -> None:
    assert parse_published(text) is None


@pytest.mark.parametrize(("text", "day"), RELATIVE)
def test_relative_to_a_reference_only(text: str, day: date) -> None:
    assert parse_published(text, REFERENCE) == day
    assert parse_published(text) is None
    assert is_relative(text)


def test_hours_cross_midnight_when_the_moment_is_known() -> None:
    moment = datetime(2026, 7, 10, 3, 0, tzinfo=UTC)
    assert parse_published("2 hours ago", moment) == date(2026, 7, 10)
    assert parse_published("4 hours ago", moment) == date(2026, 7, 9)


def test_months_ago_are_no_one_day_but_bounded() -> None:
    assert parse_published("2 months ago", REFERENCE) is None
    span = published_span("2 months ago", REFERENCE)
    assert span is not None
    assert span[0] < date(2026, 5, 10) <= span[1] < REFERENCE


@pytest.mark.parametrize("text", [*ONE_DAY, *(text for text, _ in OTHER_DAYS)])
def test_a_full_date_is_not_relative(text: str) -> None:
    assert not is_relative(text)
    assert parse_published(text, REFERENCE) == parse_published(text)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("July 2026", (date(2026, 7, 1), date(2026, 7, 31))),
        ("2026", (date(2026, 1, 1), date(2026, 12, 31))),
        ("03/04/2026", (date(2026, 3, 4), date(2026, 4, 3))),
        ("Jul 3, 2026 - Jul 9, 2026", (date(2026, 7, 3), date(2026, 7, 9))),
    ],
)
def test_an_ambiguous_text_has_bounds(text: str, span: tuple[date, date]) -> None:
    assert published_span(text) == span


def test_long_and_odd_texts_are_read_in_no_time() -> None:
    for text in ("1 de " * 50_000, "jul " * 50_000, "9" * 100_000, "3 days " * 30_000, "\u0301" * 10_000):
        assert parse_published(text, REFERENCE) is None
