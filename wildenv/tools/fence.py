"""Makes text from the web inert.

Tool replies are data. Whatever in them could be taken for the markup of a chat (tool calls, roles, answers, picture places), for
a control token of a tokenizer, for a notice of the environment or for an image id of the episode is rewritten so that no parser,
template or tokenizer takes it for the real thing, while a person still reads it. It does not judge what the text says: a page
may still try to persuade.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from wildenv.disarm import INVISIBLE, disarm

_IMAGE_ID = re.compile(r"IMG_(?=\d)", re.IGNORECASE)
_URL_UNSAFE = re.compile(r"[\s<>|\uff5c]|IMG_(?=\d)", re.IGNORECASE)
_URL_ID = re.compile(r"(IMG)%5F(?=\d)", re.IGNORECASE)
_NOTICE = re.compile(r"^(\s*)\[", re.MULTILINE)


def inert(text: str) -> str:
    """Returns web text that cannot be mistaken for anything but text; applying it twice changes nothing more."""
    return _NOTICE.sub(r"\1(", _IMAGE_ID.sub(lambda found: f"{found[0][:3]}-", disarm(text)))


def inert_line(text: str) -> str:
    """Like `inert`, on one line; for titles, captions and snippets."""
    return inert(" ".join(disarm(text).split()))


def inert_url(url: str) -> str:
    """Like `inert_line` for an address: what would be changed is percent-encoded, so that the address stays usable."""
    url = INVISIBLE.sub("", url.strip())
    return _URL_UNSAFE.sub(lambda found: f"{found[0][:3]}%5F" if len(found[0]) > 1 else quote(found[0]), url)


def real_url(shown: str) -> str:
    """Returns the address that `inert_url` showed, with the image ids in it that only the environment's own text may spell."""
    return _URL_ID.sub(r"\1_", shown)
