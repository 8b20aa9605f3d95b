"""Publication dates as search engines and pages write them.

A text is read as a span of days, from the earliest to the latest day it can mean; only a text that means one day is a date. Day
and month are not guessed: ``03/04/2026`` is two days. The day is the one written down, in the time zone it was written in. The
parser covers English, German, French, Spanish, Italian, Portuguese, Dutch, Chinese, Japanese and Korean; what it cannot read it
reports as unread, it does not say whether that text was a date.
"""

from __future__ import annotations

import re
import unicodedata
from calendar import monthrange
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from functools import lru_cache

Span = tuple[date, date]
"""Earliest and latest day."""

Reader = Callable[[re.Match[str]], Span | None]
"""Turns what a pattern matched into a span; None if there is no such day."""

_MONTH_NAMES = (
    "january jan januar janner janvier janv enero ene gennaio gen janeiro januari",
    "february feb februar feber fevrier fevr fev febrero febbraio fevereiro februari",
    "march mar marz maerz mrz mars marzo marco maart mrt",
    "april apr avril avr abril abr aprile",
    "may mai mayo maggio mag maio mei",
    "june jun juni juin junio giugno giu junho",
    "july jul juli juillet juil julio luglio lug julho",
    "august aug aout agosto ago augustus",
    "september sep sept septembre septiembre setiembre settembre sett set setembro",
    "october oct oktober okt octobre octubre ottobre ott outubro out",
    "november nov novembre noviembre novembro",
    "december dec dezember dez decembre diciembre dic dicembre dezembro",
)
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()}

_UNIT_NAMES = {
    "minute": "second seconds sec secs minute minutes min mins sekunde sekunden minuten seconde secondes segundo segundos "
    "minuto minutos secondo secondi minuti 秒 分 分钟 分鐘 초 분",
    "hour": "hour hours hr hrs h stunde stunden heure heures hora horas ora ore uur 小时 小時 時間 시간",
    "day": "day days d tag tage tagen jour jours dia dias giorno giorni dag dagen 天 日 일",
    "week": "week weeks wk wks woche wochen semaine semaines semana semanas settimana settimane weken 周 週 週間 주",
    "month": "month months mo monat monate monaten mois mes meses mese mesi maand maanden 个月 個月 か月 ヶ月 개월",
    "year": "year years yr yrs jahr jahre jahren an ans annee annees ano anos anno anni jaar 年 년",
}
_UNITS = {name: unit for unit, names in _UNIT_NAMES.items() for name in names.split()}
_ONE = {"a", "an", "one", "einer", "einem", "ein", "un", "une", "una", "uno", "um", "uma", "een"}
_DAY_WORDS = {
    **dict.fromkeys(["today", "heute", "aujourd'hui", "hoy", "oggi", "hoje", "vandaag", "今天", "今日", "오늘"], 0),
    **dict.fromkeys(["yesterday", "gestern", "hier", "ayer", "ieri", "ontem", "gisteren", "昨天", "昨日", "어제"], 1),
}


def _alternatives(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word)))


_MONTH = rf"(?P<month>{_alternatives(_MONTHS)})"
_DAY = r"(?<!\d)(?P<day>\d{1,2})(?:st|nd|rd|th|er|º|ª|o)?"
_YEAR = r"(?P<year>(?:19|20)\d{2})(?!\d)"
_GAP = r"(?:[\s.,\-/]|\b(?:de|del|of|den)\b)"
_CLOCK = r"(?:\s+\d{1,2}:\d{2}(?::\d{2})?(?:\s+[a-z]{3,4})?)?"

_YEAR_FIRST = re.compile(r"(?<!\d)(?P<year>(?:19|20)\d{2})(?P<s>[-/.])\s?(?P<month>\d{1,2})(?P=s)\s?(?P<day>\d{1,2})(?!\d)")
_COMPACT = re.compile(r"(?<!\d)(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})(?=t\d|\D|$)")
_CJK = re.compile(r"(?P<year>(?:19|20)\d{2})\s*[年년]\s*(?P<month>\d{1,2})\s*[月월]\s*(?P<day>\d{1,2})\s*[日号號일]")
_DAY_MONTH_YEAR = re.compile(rf"{_DAY}{_GAP}*\b{_MONTH}\b{_GAP}+{_YEAR}")
_MONTH_DAY_YEAR = re.compile(rf"\b{_MONTH}\b{_GAP}*{_DAY}(?!\d|:){_CLOCK}{_GAP}+{_YEAR}")
_NUMERIC = re.compile(r"(?<!\d)(?P<a>\d{1,2})(?P<s>[-/.])\s?(?P<b>\d{1,2})(?P=s)\s?" + _YEAR)
_CJK_MONTH = re.compile(r"(?P<year>(?:19|20)\d{2})\s*[年년]\s*(?P<month>\d{1,2})\s*[月월]")
_MONTH_YEAR = re.compile(rf"\b{_MONTH}\b{_GAP}+{_YEAR}")
_NUMERIC_MONTH = re.compile(
    r"(?<![\d/.\-])(?:(?P<year>(?:19|20)\d{2})[-/.](?P<month>\d{1,2})|(?P<m>\d{1,2})[-/.](?P<y>(?:19|20)\d{2}))(?![\d/.\-])"
)
_YEAR_ALONE = re.compile(r"(?<!\d)(?P<year>(?:19|20)\d{2})(?!\d)")

_COUNT = rf"(?P<count>\d{{1,4}}|\b(?:{_alternatives(_ONE)})\b)"
_UNIT = rf"(?P<unit>{_alternatives(_UNITS)})"
_AGO = re.compile(
    rf"{_COUNT}\s*{_UNIT}\.?\s+(?:ago|fa|atras|geleden)\b"
    rf"|(?:\bvor|\bil y a|\bhace|\bha)\s+{_COUNT.replace('count', 'count2')}\s*{_UNIT.replace('unit', 'unit2')}\b"
    rf"|(?P<count3>\d{{1,4}})\s*{_UNIT.replace('unit', 'unit3')}\s*[前전]"
)
_DAY_WORD = re.compile(rf"(?<![^\W\d_])(?:{_alternatives(_DAY_WORDS)})(?![^\W\d_])")

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
    plain = _plain(text)
    return _AGO.search(plain) is not None or _DAY_WORD.search(plain) is not None


@lru_cache(maxsize=65_536)
def published_span(text: str | None, reference: date | None = None) -> Span | None:
    """Returns the earliest and the latest day a text can mean; None if it is unread. Arguments as in `parse_published`."""
    if not text:
        return None
    plain = _plain(text)
    spans: list[Span] = []
    for pattern in (_YEAR_FIRST, _COMPACT, _CJK, _DAY_MONTH_YEAR, _MONTH_DAY_YEAR):
        plain = _take(pattern, plain, spans, _whole)
    plain = _take(_NUMERIC, plain, spans, _numeric)
    if reference is not None:
        spans += [span for match in _AGO.finditer(plain) if (span := _ago(match, reference))]
        spans += [_back(reference, timedelta(days=_DAY_WORDS[match.group()])) for match in _DAY_WORD.finditer(plain)]
    if not spans:
        for pattern in (_CJK_MONTH, _MONTH_YEAR, _NUMERIC_MONTH, _YEAR_ALONE):
            plain = _take(pattern, plain, spans, _part)
    if not spans:
        return None
    return min(span[0] for span in spans), max(span[1] for span in spans)


def _plain(text: str) -> str:
    """Lower case, compatible characters unified, accents removed, cut to a length that no date needs."""
    decomposed = unicodedata.normalize("NFKD", text[:_LONGEST]).casefold()
    without = "".join(char for char in decomposed if not "\u0300" <= char <= "\u036f")
    return unicodedata.normalize("NFC", without).replace("’", "'")


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
    return _MONTHS[text] if text in _MONTHS else int(text)


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
    unit = _UNITS[match["unit"] or match["unit2"] or match["unit3"]]
    count = 1 if count_text in _ONE else int(count_text)
    if unit in ("month", "year"):
        # Engines round down, and months differ in length.
        short, long = (28, 31) if unit == "month" else (365, 366)
        if count * long > 36_500:
            return None
        return _back(reference, timedelta(days=(count + 1) * long))[0], _back(reference, timedelta(days=count * short))[1]
    seconds = {"minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}[unit]
    return _back(reference, timedelta(seconds=count * seconds))
