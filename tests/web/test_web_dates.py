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

IN_OTHER_WORDS = [
    ("3 июля 2026", THIRD),  # Russian
    ("3 июля 2026 г., 14:05", THIRD),
    ("пт, 3 июл. 2026", THIRD),
    ("3 декабря 2026", date(2026, 12, 3)),
    ("1 мая 2026 года", date(2026, 5, 1)),
    ("3 липня 2026 р.", THIRD),  # Ukrainian
    ("3 лип. 2026", THIRD),
    ("24 грудня 2025", date(2025, 12, 24)),
    ("3 lipca 2026", THIRD),  # Polish
    ("piątek, 3 lip 2026", THIRD),
    ("5 października 2026 r.", date(2026, 10, 5)),
    ("1 września 2026", date(2026, 9, 1)),
    ("3. července 2026", THIRD),  # Czech
    ("3. června 2026", date(2026, 6, 3)),
    ("12. září 2026", date(2026, 9, 12)),
    ("3. júla 2026", THIRD),  # Slovak
    ("3 Temmuz 2026 Cuma", THIRD),  # Turkish
    ("3 Şubat 2026", date(2026, 2, 3)),
    ("15 Ağustos 2026", date(2026, 8, 15)),
    ("2 Kasım 2026", date(2026, 11, 2)),
    ("3 Ιουλίου 2026", THIRD),  # Greek
    ("3 Ιουλ 2026", THIRD),
    ("ΠΑΡΑΣΚΕΥΗ 3 ΙΟΥΛΙΟΥ 2026", THIRD),
    ("5 Μαΐου 2026", date(2026, 5, 5)),
    ("3 iulie 2026", THIRD),  # Romanian
    ("3 octombrie 2026", date(2026, 10, 3)),
    ("2026. július 3.", THIRD),  # Hungarian
    ("2026. júl. 3., péntek", THIRD),
    ("2026. szeptember 15.", date(2026, 9, 15)),
    ("3. heinäkuuta 2026", THIRD),  # Finnish
    ("24. joulukuuta 2025", date(2025, 12, 24)),
    ("den 3 juli 2026", THIRD),  # Swedish
    ("3 augusti 2026", date(2026, 8, 3)),
    ("3. marts 2026", date(2026, 3, 3)),  # Danish
    ("1. maj 2026", date(2026, 5, 1)),
    ("3. desember 2026", date(2026, 12, 3)),  # Norwegian
    ("3 tháng 7, 2026", THIRD),  # Vietnamese
    ("Ngày 3 tháng 12 năm 2026", date(2026, 12, 3)),
    ("3 Juli 2026", THIRD),  # Indonesian
    ("17 Agustus 2026", date(2026, 8, 17)),
    ("17 Agt 2026", date(2026, 8, 17)),
    ("3 يوليو 2026", THIRD),  # Arabic
    ("٣ يوليو ٢٠٢٦", THIRD),
    ("الجمعة، 3 يوليو، 2026", THIRD),
    ("\u200f3 أغسطس 2026\u200f", date(2026, 8, 3)),
    ("3 تشرين الأول 2026", date(2026, 10, 3)),
    ("3 जुलाई 2026", THIRD),  # Hindi
    ("३ दिसंबर २०२६", date(2026, 12, 3)),
    ("۲۰۲۶/۰۷/۰۳", THIRD),  # Persian digits
    ("๓/๗/๒๐๒๖", None),  # Thai digits, and as ambiguous as 3/7/2026
    ("3 ก.ค. 2569", THIRD),  # Thai years
    ("3 กรกฎาคม พ.ศ. 2569", THIRD),
    ("令和8年7月3日", THIRD),  # Japan's era
    ("令和元年12月3日", date(2019, 12, 3)),
    ("平成30年7月3日", None),
    ("3 tem 2026", THIRD),
    ("1405/04/12", None),  # a Persian year
    ("3-Jul-26", None),
    ("3 xyzember 2026", None),
    ("3 июля", None),
    ("июль 2026", None),
    ("12 LED 2026", None),
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
    ("yesterday", date(2026, 7, 9)),
    ("3 дня назад", date(2026, 7, 7)),
    ("5 дней назад", date(2026, 7, 5)),
    ("2 часа назад", date(2026, 7, 10)),
    ("вчера", date(2026, 7, 9)),
    ("позавчера в 14:00", date(2026, 7, 8)),
    ("сегодня", date(2026, 7, 10)),
    ("3 дні тому", date(2026, 7, 7)),
    ("годину тому", date(2026, 7, 10)),
    ("вчора", date(2026, 7, 9)),
    ("3 dni temu", date(2026, 7, 7)),
    ("godzinę temu", date(2026, 7, 10)),
    ("wczoraj", date(2026, 7, 9)),
    ("3 gün önce", date(2026, 7, 7)),
    ("5 saat önce", date(2026, 7, 10)),
    ("dün", date(2026, 7, 9)),
    ("3 dagar sedan", date(2026, 7, 7)),
    ("3 hari yang lalu", date(2026, 7, 7)),
    ("3 ngày trước", date(2026, 7, 7)),
    ("hôm qua", date(2026, 7, 9)),
    ("٣ days ago", date(2026, 7, 7)),
    ("前天", date(2026, 7, 8)),
    ("vorgestern", date(2026, 7, 8)),
    ("avant-hier", date(2026, 7, 8)),
    ("gestern", date(2026, 7, 9)),
    ("today", date(2026, 7, 10)),
]


@pytest.mark.parametrize("text", ONE_DAY)
def test_the_third_of_july(text: str) -> None:
    assert parse_published(text) == THIRD


@pytest.mark.parametrize(("text", "day"), OTHER_DAYS)
def test_other_days(text: str, day: date) -> None:
    assert parse_published(text) == day


@pytest.mark.parametrize(("text", "day"), IN_OTHER_WORDS)
def test_days_in_other_languages_scripts_and_calendars(text: str, day: date | None) -> None:
    assert len(IN_OTHER_WORDS) >= 60
    assert parse_published(text) == day
    assert not is_relative(text)


def test_a_date_with_a_known_month_name_is_cut_off_by_its_day() -> None:
    found = [("3 декабря 2026", True), ("3 grudnia 2026", True), ("3 июня 2026", False), ("3 czerwca 2026", False)]
    for text, late in found:
        span = published_span(text)
        assert span is not None
        assert (span[0] > REFERENCE, span[1] > REFERENCE) == (late, late)


def test_a_date_with_an_unknown_month_name_is_some_day_of_its_year() -> None:
    assert published_span("3 xyzember 2026") == (date(2026, 1, 1), date(2026, 12, 31))
    assert published_span("3-Jul-26") is None
    assert published_span("3 ก.ค. 69") is None


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("2 weeks ago", (date(2026, 6, 20), date(2026, 6, 26))),
        ("a week ago", (date(2026, 6, 27), date(2026, 7, 3))),
        ("неделю назад", (date(2026, 6, 27), date(2026, 7, 3))),
        ("2 tygodnie temu", (date(2026, 6, 20), date(2026, 6, 26))),
        ("2 hafta önce", (date(2026, 6, 20), date(2026, 6, 26))),
        ("tháng 7 năm 2026", (date(2026, 7, 1), date(2026, 7, 31))),
        ("июль 2026", (date(2026, 7, 1), date(2026, 7, 31))),
    ],
)
def test_weeks_and_months_are_spans(text: str, span: tuple[date, date]) -> None:
    assert published_span(text, REFERENCE) == span
    assert parse_published(text, REFERENCE) is None


def test_a_number_that_is_too_long_is_not_one_of_something() -> None:
    assert published_span("10000 дней назад", REFERENCE) is None


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
