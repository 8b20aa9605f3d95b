"""The HTML of a page: what a browser would be served, with the usual frame around the text.

The plain text of the page does not depend on this markup; extracting it again is the web layer's business.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from wildenv.miniweb.records import PageRecord, PictureRecord


def page_html(page: PageRecord, pictures: Iterable[PictureRecord]) -> str:
    """Returns the HTML of a page with its pictures."""
    host = page.url.split("/")[2]
    dated = ""
    stamp = ""
    if page.published is not None:
        dated = f'<meta property="article:published_time" content="{page.published}">\n'
        stamp = f'<p><time datetime="{page.published}">{page.published}</time></p>\n'
    paragraphs = "\n".join(f"<p>{escape(part)}</p>" for part in page.text.split("\n\n"))
    figures = "\n".join(
        f'<figure><img src="{escape(picture.url)}" alt="{escape(picture.caption)}">'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
        for picture in pictures
    )
    title, home = escape(page.title), f'<a href="https://{host}/">{host}</a>'
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n{dated}</head>\n'
        f'<body>\n<header>{home} <nav><a href="/about">About</a> <a href="/contact">Contact</a></nav></header>\n'
        f"<main><article>\n<h1>{title}</h1>\n{stamp}{paragraphs}\n{figures}\n</article></main>\n"
        f"<footer><p>Terms of use. Privacy. Newsletter.</p></footer>\n</body>\n</html>\n"
    )
