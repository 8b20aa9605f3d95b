"""A document of plain text."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from wildenv.web.extract.charset import decode
from wildenv.web.extract.visible import line_of, paragraphs
from wildenv.web.results import Page


def extract_text(data: bytes, url: str, charset: str | None) -> Page:
    """Reads a text; its title is the name of the file. Arguments as in `extract_html`."""
    lines = decode(data, charset).splitlines()
    text = "\n".join(line if line.strip() else "\f" for line in lines)
    return Page(url, file_name(url), paragraphs(text.split("\f")))


def file_name(url: str) -> str:
    """Returns the last part of an address, for documents that have no title."""
    return line_of(unquote(urlsplit(url).path.rstrip("/").rpartition("/")[2]))[:200]
