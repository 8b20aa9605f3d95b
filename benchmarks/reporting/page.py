"""The page: one HTML file that holds its data, its pictures and its code, and asks for nothing else.

Everything out of episodes goes in as JSON inside data blocks that no browser runs, with the characters that could end such a
block escaped; the page's code puts it on the screen as text. A content security policy names the digest of the one
script that may run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

_SOURCE = Path(__file__).with_name("page")
_SCRIPTS = ("nodes.js", "data.js", "pictures.js", "list.js", "detail.js", "turns.js", "report.js", "main.js")
_MARK = re.compile(r"\{\{(\w+)\}\}")

DETAILS = 32
"""Episodes in one block of details; a block is unpacked when one of them is looked at."""
PICTURES = 256
"""Pictures in one block."""


def page_html(
    title: str,
    index: Mapping[str, Any],
    details: Sequence[Mapping[str, Any]],
    pictures: Sequence[bytes] | None,
) -> str:
    """Returns the page.

    Args:
        title: Of the window.
        index: What is needed to list episodes and to show tables.
        details: One for each episode, in the order of the list.
        pictures: WebP bytes by number; None if they lie beside the page.
    """
    script = "\n".join(["(() => {", '"use strict";', *(_read(name) for name in _SCRIPTS), "})();"])
    style = _read("style.css")
    policy = (
        f"default-src 'none'; img-src data: 'self' file:; script-src {_source_digest(script)}; "
        f"style-src {_source_digest(style)}; base-uri 'none'; form-action 'none'"
    )
    whole = {**index, "blocks": {"details": DETAILS, "pictures": PICTURES}}
    parts = {
        "policy": policy,
        "title": html.escape(title),
        "style": style,
        "script": script,
        "data": "\n".join(
            [
                _block("index", _json(whole)),
                *(_block(f"details-{number}", block) for number, block in enumerate(_detail_blocks(details))),
                *(_block(f"pictures-{number}", block) for number, block in enumerate(_picture_blocks(pictures or ()))),
            ]
        ),
    }
    # One pass over the template: marks inside the parts stay what they are.
    return _MARK.sub(lambda mark: parts[mark[1]], _read("template.html"))


def _read(name: str) -> str:
    return (_SOURCE / name).read_text(encoding="utf-8")


def _source_digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _block(name: str, body: str) -> str:
    return f'<script type="application/json" id="{name}">{body}</script>'


def _json(value: Any) -> str:
    """Returns JSON without a character that HTML gives a meaning to; all beyond ASCII is escaped."""
    written = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _detail_blocks(details: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for start in range(0, len(details), DETAILS):
        packed = gzip.compress(_json(details[start : start + DETAILS]).encode(), compresslevel=6, mtime=0)
        yield _json(base64.b64encode(packed).decode())


def _picture_blocks(pictures: Sequence[bytes]) -> Iterator[str]:
    for start in range(0, len(pictures), PICTURES):
        yield _json([base64.b64encode(data).decode() for data in pictures[start : start + PICTURES]])
