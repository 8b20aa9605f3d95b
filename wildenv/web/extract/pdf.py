"""A PDF document: its text page by page, title, creation date.

The text is what the file's own text layer says, in the order it says it; columns and tables may come out mixed, and a scan
without such a layer has no text. Pictures are not looked at.
"""

from __future__ import annotations

import io

from pypdf import PdfReader

from wildenv.errors import DataError
from wildenv.web.extract.text import file_name
from wildenv.web.extract.visible import line_of, paragraphs
from wildenv.web.results import Page

MOST_PAGES = 100
"""Pages that are read of one document; the text says so where there are more."""


def extract_pdf(data: bytes, url: str) -> Page:
    """Reads a document.

    Args:
        data: The document.
        url: Where it comes from; names it where it has no title.

    Raises:
        DataError: If it is damaged or needs a password.
    """
    try:
        reader = PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise DataError("the document needs a password")
        count = len(reader.pages)
        texts = [page.extract_text() for page in reader.pages[:MOST_PAGES]]
    except (DataError, MemoryError):
        raise
    except Exception as error:
        # A damaged file makes pypdf stumble in any way.
        raise DataError(f"the document is damaged: {type(error).__name__}: {str(error)[:200]}") from error
    if count > MOST_PAGES:
        texts.append(f"(These are the first {MOST_PAGES} of {count} pages.)")
    title, created = _described(reader)
    return Page(url, title or file_name(url), paragraphs(texts), created)


def _described(reader: PdfReader) -> tuple[str, str | None]:
    """Returns title and creation date; a document that describes itself badly is read all the same."""
    try:
        about = reader.metadata
        created = None if about is None else about.creation_date
        title = "" if about is None else line_of(str(about.title or ""))[:500]
    except Exception:  # noqa: BLE001  (it stumbles here too)
        return "", None
    return title, None if created is None else created.isoformat()
