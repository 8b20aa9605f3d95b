"""Text of bytes whose character encoding may be claimed, misclaimed or left out.

Bytes that are valid UTF-8 are UTF-8, whatever anybody says. Then the claims are tried, the server's before the document's, and
one whose result no language looks like is passed over: servers often claim a western default for everything. Without a usable
claim the encoding is guessed. A short text in a rare encoding that nobody names may come out wrong.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META = re.compile(
    rb"<meta[^<>]{0,400}?charset\s*=\s*[\"']?\s*([\w:.+-]{2,40})|^<\?xml[^<>]{0,200}encoding\s*=\s*[\"']([\w.-]{2,40})", re.I
)
_META_BYTES = 8_192
_MARKUP = re.compile(rb"<[^<>]*>")
_ACCENTED = re.compile(r"[^\x00-\x7f\W\d_]+")
_HIGH = re.compile(rb"[\x80-\xff]+")
_HALF_WIDTH = re.compile("[\uff61-\uff9f]")
_MIXED = re.compile(r"[a-zA-Z][^\x00-\x7f\W\d_]")
_SAMPLE = 20_000

# What browsers read a label as: the larger set that pages really use.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
_LABELS = {"x-sjis": "cp932", "windows-874": "cp874", "x-gbk": "gb18030", "x-euc-jp": "euc_jp", "x-mac-cyrillic": "mac-cyrillic"}
_CYRILLIC = frozenset("cp1251 koi8-r koi8-u cp866 iso8859-5 mac-cyrillic".split())
# Those that browsers know, without UTF-8 and UTF-16, which are recognised and need no claim.
_KNOWN = _CYRILLIC | frozenset(
    "cp1250 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp874 iso8859-2 iso8859-3 iso8859-4 iso8859-6 iso8859-7 iso8859-8 "
    "iso8859-10 iso8859-13 iso8859-14 iso8859-15 iso8859-16 mac-roman gb18030 big5hkscs euc_jp iso2022_jp cp932 cp949".split()
)
_GUESSED_WEST = ["cp1252", "cp1250", "cp1254"]
_GUESSED = ["gb18030", "big5hkscs", "cp932", "euc_jp", "cp949", "cp1251", "koi8-r", "cp1253", "cp1255", "cp1256", "cp874"]


def decode(data: bytes, claimed: str | None) -> str:
    """Returns the text.

    Args:
        data: The document, of any length.
        claimed: The encoding that the server names, if any.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    if (wide := _unmarked_utf16(data)) is not None:
        return data.decode(wide, "replace")
    if data.isascii():
        return data.decode("iso2022_jp" if b"\x1b$" in data else "ascii", "replace")
    if _is_utf8(data):
        return data.decode("utf-8", "replace")
    claims = list(_claims(data, claimed))
    for name in claims:
        text = data.decode(name, "replace")
        if _plausible(text, name):
            return text
    guess = _guess(data)
    if guess is not None:
        return data.decode(guess, "replace")
    return data.decode(claims[0] if claims else "cp1252", "replace")


def _claims(data: bytes, claimed: str | None) -> Iterator[str]:
    """Yields the encodings that server and document name, as Python calls them."""
    found = _META.search(data[:_META_BYTES])
    inside = (found[1] or found[2]).decode("ascii", "replace") if found else None
    for label in (claimed, inside):
        label = (label or "").strip().strip("\"'").lower()
        try:
            name = codecs.lookup(_LABELS.get(label, label)).name
        except (LookupError, ValueError):
            continue
        name = _WIDER.get(name, name)
        if name in _KNOWN:
            yield name


def _unmarked_utf16(data: bytes) -> str | None:
    """Returns the UTF-16 whose every other byte of western text and markup is NUL."""
    start = data[:1_000]
    half = len(start) // 2
    if half < 2 or start.count(0) < half * 0.6:
        return None
    even, odd = start[::2].count(0), start[1::2].count(0)
    if even > half * 0.6 and odd < half * 0.1:
        return "utf-16-be"
    return "utf-16-le" if odd > half * 0.6 and even < half * 0.1 else None


def _is_utf8(data: bytes) -> bool:
    """Says whether bytes are UTF-8, a few damaged ones among many allowed."""
    text = data.decode("utf-8", "replace")
    lost = text.count("\ufffd")
    return lost == 0 or lost * 50 < sum(not char.isascii() for char in text)


def _plausible(text: str, name: str) -> bool:
    """Says whether text looks like that of some language that is written in the encoding."""
    foreign = [char for char in text if not char.isascii()]
    broken = sum(char == "\ufffd" or unicodedata.category(char) in ("Cc", "Co", "Cn") for char in foreign)
    if broken * 50 > len(foreign):
        return False
    if name == "cp1252":
        # What servers claim without knowing. Accented letters of western languages stand alone among plain ones.
        runs = _ACCENTED.findall(text)
        letters = sum(map(len, runs))
        return letters < 4 or sum(len(run) == 1 for run in runs) * 2 > letters
    if name in _CYRILLIC:
        # One Cyrillic encoding read as another swaps capitals and small letters, or turns letters into signs; western text read
        # as Cyrillic has its letters within Latin words.
        letters, capitals = sum(map(str.isalpha, foreign)), sum(map(str.isupper, foreign))
        mixed = len(_MIXED.findall(text))
        return letters < 4 or (capitals * 2 < letters and letters * 10 > len(foreign) * 7 and mixed * 2 < letters)
    # Cyrillic letters read as Japanese are katakana of half width.
    return len(_HALF_WIDTH.findall(text)) * 2 < max(1, len(foreign))


def _guess(data: bytes) -> str | None:
    """Returns the encoding that the bytes themselves suggest."""
    from charset_normalizer import from_bytes

    sample = _MARKUP.sub(b" ", data)[:_SAMPLE]
    runs = _HIGH.findall(sample)
    alone = sum(len(run) == 1 for run in runs)
    names = _GUESSED_WEST if alone * 2 > len(runs) else _GUESSED
    for match in from_bytes(sample, cp_isolation=names, preemptive_behaviour=False):
        name = codecs.lookup(match.encoding).name
        if _plausible(sample.decode(name, "replace"), name):
            return name
    return None
