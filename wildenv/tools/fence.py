"""Makes text from the web inert.

Tool replies are data. Whatever in them could be taken for the markup of a chat (tool calls, roles, answers, picture places), for
a control token of a tokenizer, for a notice of the environment or for an image id of the episode is rewritten so that no parser,
template or tokenizer takes it for the real thing, while a person still reads it. It does not judge what the text says: a page
may still try to persuade.
"""

from __future__ import annotations

import re
from urllib.parse import quote

_BREAK = re.compile("\r\n?|[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_TOKEN_END = re.compile("[|\uff5c]>")
# The control tokens that some tokenizers write in square brackets.
_BRACKET_TOKEN = re.compile(
    r"\[(?=/?(?:INST|IMG|IMG_BREAK|IMG_END|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|AVAILABLE_TOOLS|SYSTEM_PROMPT|ARGS|CALL_ID"
    r"|PREFIX|SUFFIX|MIDDLE|CLS|SEP|PAD|MASK|UNK|gMASK|sMASK)\])"
)
_IMAGE_ID = re.compile(r"IMG_(?=\d)", re.IGNORECASE)
_URL_UNSAFE = re.compile(r"[\s<>|\uff5c]|IMG_(?=\d)", re.IGNORECASE)
_URL_ID = re.compile(r"(IMG)%5F(?=\d)", re.IGNORECASE)
_NOTICE = re.compile(r"^(\s*)\[", re.MULTILINE)


def disarm(text: str) -> str:
    """Returns text without markup and control tokens. Image ids and notices stay: this is for text of the environment itself.

    Every ``<`` goes, since which of them begin a token depends on the model.
    """
    text = _INVISIBLE.sub("", _BREAK.sub("\n", text))
    return _BRACKET_TOKEN.sub("(", _TOKEN_END.sub("|›", text.replace("<", "‹").replace("＜", "‹")))


def inert(text: str) -> str:
    """Returns web text that cannot be mistaken for anything but text; applying it twice changes nothing more."""
    return _NOTICE.sub(r"\1(", _IMAGE_ID.sub(lambda found: f"{found[0][:3]}-", disarm(text)))


def inert_line(text: str) -> str:
    """Like `inert`, on one line; for titles, captions and snippets."""
    return inert(" ".join(disarm(text).split()))


def inert_url(url: str) -> str:
    """Like `inert_line` for an address: what would be changed is percent-encoded, so that the address stays usable."""
    url = _INVISIBLE.sub("", url.strip())
    return _URL_UNSAFE.sub(lambda found: f"{found[0][:3]}%5F" if len(found[0]) > 1 else quote(found[0]), url)


def real_url(shown: str) -> str:
    """Returns the address that `inert_url` showed, with the image ids in it that only the environment's own text may spell."""
    return _URL_ID.sub(r"\1_", shown)
