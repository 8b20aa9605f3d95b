"""The text that a reader of a page would see, menus and all.

For pages whose main text cannot be told from the rest, and for those too large or too deep to be made a tree of. Linear in the
size of the page. It knows markup only, not style sheets, and takes a ``>`` within an attribute for the end of the tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape

# A tag or comment that is not closed must not make the search start over at every later character.
_TOKEN = re.compile(r"<!--(?:.*?-->|.*)|<(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})[^<>]*+>|<[!?/][^<>]*+>", re.DOTALL)
_UNSEEN = {
    name: re.compile(rf"</{name}\s*>", re.IGNORECASE)
    for name in "head iframe math noscript object script style svg template textarea select title".split()
}
_BLOCKS = frozenset(
    "address article aside blockquote body button caption center dd details div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol option p pre section summary table tbody td tfoot th "
    "thead tr ul".split()
)
_SPACE = re.compile(r"\s+")
# Python refuses to read numbers of thousands of digits.
_ENDLESS_REFERENCE = re.compile(r"&#(?:\d{8,}|[xX][0-9a-fA-F]{8,});?")
_UNFIT = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


def visible_text(markup: str) -> str:
    """Returns the text outside of tags, scripts and the like; blocks are separated by blank lines."""
    pieces: list[str] = []
    at = 0
    while (token := _TOKEN.search(markup, at)) is not None:
        pieces.append(_plain(markup[at : token.start()]))
        at = token.end()
        name = (token[2] or "").lower()
        if name in _UNSEEN and not token[1] and not token[0].endswith("/>"):
            end = _UNSEEN[name].search(markup, at)
            at = len(markup) if end is None else end.end()
            pieces.append(" ")
        elif name == "br":
            pieces.append("\n")
        elif name in _BLOCKS:
            pieces.append("\v")
    pieces.append(_plain(markup[at:]))
    return paragraphs("".join(pieces).split("\v"))


def paragraphs(texts: Iterable[str]) -> str:
    """Returns texts separated by blank lines: the empty ones left out, white space evened out, line breaks kept."""
    blocks = ("\n".join(filter(None, (line_of(line) for line in text.split("\n")))) for text in texts)
    return "\n\n".join(filter(None, blocks))


def line_of(text: str) -> str:
    """Returns text on one line, without what no store or terminal takes."""
    return " ".join(_UNFIT.sub("", text).split())


def _plain(text: str) -> str:
    return _SPACE.sub(" ", unescape(_ENDLESS_REFERENCE.sub("\ufffd", text)))
