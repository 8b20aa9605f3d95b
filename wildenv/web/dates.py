"""Publication dates as search engines and pages write them.

A text is read as a span of days, from the earliest to the latest day it can mean; only a text that means one day is a date. Day
and month are not guessed: ``03/04/2026`` is two days. The day is the one written down, in the time zone it was written in.
Languages are those of `wildenv.web.date_words`; of calendars other than ours only Japan's present era and Thai years are read.
What cannot be read is reported as unread, it is not said whether that text was a date. Of a date whose month is in no language we
know, the year is read: that it is a day of that year holds whatever the month is, and hides it from cutoffs before.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import lru_cache

from wildenv.web.date_words import DAY_WORDS, MONTHS, ONE, THAI_MONTHS, UNITS, alternatives, plain

Span = tuple[date, date]
"""Earliest and latest day."""

Reader = Callable[[re.Match[str]], Span | None]
"""Turns what a pattern matched into a span; None if there is no such day."""

# Not \b: to Python the vowel signs of some scripts are no part of a word.
_ALONE, _ENDS = r"(?<![^\W\d_])", r"(?![^\W\d_])"
_MONTH = rf"{_ALONE}(?P<month>{alternatives(MONTHS)}){_ENDS}"
_DAY = r"(?<!\d)(?P<day>\d{1,2})(?:st|nd|rd|th|er|º|ª|o)?"
_YEAR = r"(?P<year>(?:19|20)\d{2})(?!\d)"
_GAP = r"(?:[\s.,\-/]|\b(?:de|del|of|den|nam)\b)"
_CLOCK = r"(?:\s+\d{1,2}:\d{2}(?::\d{2})?(?:\s+[a-z]{3,4})?)?"

_REIWA = re.compile(r"令和\s*(\d{1,2}|元)\s*年")
_THAI = re.compile(rf"{_DAY}\s*(?P<month>{alternatives(THAI_MONTHS)})\s*(?:พ\.?ศ\.?\s*)?(?P<year>25\d{{2}})(?!\d)")

_YEAR_FIRST = re.compile(r"(?<!\d)(?P<year>(?:19|20)\d{2})(?P<s>[-/.])\s?(?P<month>\d{1,2})(?P=s)\s?(?P<day>\d{1,2})(?!\d)")
_COMPACT = re.compile(r"(?<!\d)(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})(?=t\d|\D|$)")
_CJK = re.compile(r"(?P<year>(?:19|20)\d{2})\s*[年년]\s*(?P<month>\d{1,2})\s*[月월]\s*(?P<day>\d{1,2})\s*[日号號일]")
_VIETNAMESE = re.compile(rf"{_DAY}\s*\bthang\s+(?P<month>\d{{1,2}})(?!\d){_GAP}+{_YEAR}")
_DAY_MONTH_YEAR = re.compile(rf"{_DAY}{_GAP}*{_MONTH}{_GAP}+{_YEAR}")
_MONTH_DAY_YEAR = re.compile(rf"{_MONTH}{_GAP}*{_DAY}(?!\d|:){_CLOCK}{_GAP}+{_YEAR}")
_YEAR_MONTH_DAY = re.compile(rf"(?<!\d){_YEAR}{_GAP}+{_MONTH}{_GAP}*{_DAY}(?!\d|:)")
_NUMERIC = re.compile(r"(?<!\d)(?P<a>\d{1,2})(?P<s>[-/.])\s?(?P<b>\d{1,2})(?P=s)\s?" + _YEAR)
_CJK_MONTH = re.compile(r"(?P<year>(?:19|20)\d{2})\s*[年년]\s*(?P<month>\d{1,2})\s*[月월]")
_VIETNAMESE_MONTH = re.compile(rf"\bthang\s+(?P<month>\d{{1,2}})(?!\d){_GAP}+{_YEAR}")
_MONTH_YEAR = re.compile(rf"{_MONTH}{_GAP}+{_YEAR}")
_NUMERIC_MONTH = re.compile(
    r"(?<![\d/.\-])(?:(?P<year>(?:19|20)\d{2})[-/.](?P<month>\d{1,2})|(?P<m>\d{1,2})[-/.](?P<y>(?:19|20)\d{2}))(?![\d/.\-])"
)
_YEAR_ALONE = re.compile(r"(?<!\d)(?P<year>(?:19|20)\d{2})(?!\d)")

_COUNT = rf"(?P<count>(?<!\d)\d{{1,4}}|\b(?:{alternatives(ONE)})\b)"
_UNIT = rf"(?P<unit>{alternatives(UNITS)})"
_AFTER = rf"\.?\s+(?:ago|fa|atras|geleden|назад|тому|temu|once|sedan|siden|(?:yang\s+)?lalu|truoc){_ENDS}"
_AGO = re.compile(
    rf"{_COUNT}\s*{_UNIT}{_AFTER}"
    rf"|(?:\bvor|\bil y a|\bhace|\bha)\s+{_COUNT.replace('count', 'count2')}\s*{_UNIT.replace('unit', 'unit2')}\b"
    rf"|(?P<count3>(?<!\d)\d{{1,4}})\s*{_UNIT.replace('unit', 'unit3')}\s*[前전]"
    # "A week ago" in languages that need no word for the one.
    rf"|(?<!\d)(?<!\d\s){_ALONE}{_UNIT.replace('unit', 'unit4')}\s+(?:назад|тому|temu){_ENDS}"
)
_DAY_WORD = re.compile(rf"{_ALONE}(?:{alternatives(DAY_WORDS)}){_ENDS}")

_LONGEST = 200
_YEARS_COVERED = range(1990, 2101)


def parse_published(text: str | None, reference: date | None = None) -> date | None:
    """Returns the one day a text means.

    Args:
        text: As the engine or page gave it.
        reference: When it was said; a `datetime` resolves hours exactly, a plain `date` takes "5 hours ago" as that day. Without
            it a relative text means nothing.

    Returns:
        The day; None for no text, an unreadable one, one that can mean several days (``03/04/2026``, ``July 2026``, a year
        alone, "2 months ago", two different dates), and a relative one without reference.
    """
    span = published_span(text, reference)
    return None if span is None or span[0] != span[1] else span[0]


def is_relative(text: str | None) -> bool:
    """Says whether a text can only be read by someone who knows when it was said."""
    if not text:
        return False
    said = plain(text[:_LONGEST])
    return _AGO.search(said) is not None or _DAY_WORD.search(said) is not None


@lru_cache(maxsize=65_536)
def published_span(text: str | None, reference: date | None = None) -> Span | None:
    """Returns the earliest and the latest day a text can mean; None if it is unread. Arguments as in `parse_published`."""
    if not text:
        return None
    said = _REIWA.sub(_western, plain(text[:_LONGEST]))
    spans: list[Span] = []
    said = _take(_THAI, said, spans, _buddhist)
    for pattern in (_YEAR_FIRST, _COMPACT, _CJK, _VIETNAMESE, _DAY_MONTH_YEAR, _MONTH_DAY_YEAR, _YEAR_MONTH_DAY):
        said = _take(pattern, said, spans, _whole)
    said = _take(_NUMERIC, said, spans, _numeric)
    if reference is not None:
        spans += [span for match in _AGO.finditer(said) if (span := _ago(match, reference))]
        spans += [_back(reference, timedelta(days=DAY_WORDS[_one_line(match[0])])) for match in _DAY_WORD.finditer(said)]
    if not spans:
        for pattern in (_CJK_MONTH, _VIETNAMESE_MONTH, _MONTH_YEAR, _NUMERIC_MONTH, _YEAR_ALONE):
            said = _take(pattern, said, spans, _part)
    if not spans:
        return None
    return min(span[0] for span in spans), max(span[1] for span in spans)


def _take(pattern: re.Pattern[str], text: str, spans: list[Span], read: Reader) -> str:
    """Adds what the pattern finds to the spans and blanks it out, so that no later pattern reads it again."""

    def replace(match: re.Match[str]) -> str:
        span = read(match)
        if span is not None:
            spans.append(span)
        return " ; "

    return pattern.sub(replace, text)


def _day(year: int, month: int, day: int) -> date | None:
    if year not in _YEARS_COVERED or not 1 <= month <= 12 or not 1 <= day <= monthrange(year, month)[1]:
        return None
    return date(year, month, day)


def _month(text: str) -> int:
    return int(text) if text.isdecimal() else MONTHS[_one_line(text)]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _western(match: re.Match[str]) -> str:
    return f"{2018 + (1 if match[1] == '元' else int(match[1]))}年"


def _buddhist(match: re.Match[str]) -> Span | None:
    found = _day(int(match["year"]) - 543, THAI_MONTHS[match["month"]], int(match["day"]))
    return None if found is None else (found, found)


def _whole(match: re.Match[str]) -> Span | None:
    found = _day(int(match["year"]), _month(match["month"]), int(match["day"]))
    return None if found is None else (found, found)


def _numeric(match: re.Match[str]) -> Span | None:
    first, second, year = int(match["a"]), int(match["b"]), int(match["year"])
    day_first, month_first = _day(year, second, first), _day(year, first, second)
    if match["s"] == "." and day_first is not None:
        # Dotted dates are day-first wherever they are in use.
        return day_first, day_first
    readings = sorted(found for found in (day_first, month_first) if found is not None)
    return (readings[0], readings[-1]) if readings else None


def _part(match: re.Match[str]) -> Span | None:
    groups = match.groupdict()
    year, month = int(groups.get("year") or groups["y"]), groups.get("month") or groups.get("m")
    if year not in _YEARS_COVERED:
        return None
    if month is None:
        return date(year, 1, 1), date(year, 12, 31)
    number = _month(month)
    return (date(year, number, 1), date(year, number, monthrange(year, number)[1])) if 1 <= number <= 12 else None


def _back(reference: date, delta: timedelta) -> Span:
    moment = reference - delta
    day = moment.date() if isinstance(moment, datetime) else moment
    return day, day


def _ago(match: re.Match[str], reference: date) -> Span | None:
    count_text = match["count"] or match["count2"] or match["count3"]
    unit = UNITS[_one_line(match["unit"] or match["unit2"] or match["unit3"] or match["unit4"])]
    count = 1 if count_text is None or count_text in ONE else int(count_text)
    if unit == "week":
        # Engines round down: what they say until the next week is full.
        return _back(reference, timedelta(days=7 * count + 6))[0], _back(reference, timedelta(days=7 * count))[1]
    if unit in ("month", "year"):
        # Engines round down, and months differ in length.
        short, long = (28, 31) if unit == "month" else (365, 366)
        if count * long > 36_500:
            return None
        return _back(reference, timedelta(days=(count + 1) * long))[0], _back(reference, timedelta(days=count * short))[1]
    seconds = {"minute": 60, "hour": 3600, "day": 86_400}[unit]
    return _back(reference, timedelta(seconds=count * seconds))
