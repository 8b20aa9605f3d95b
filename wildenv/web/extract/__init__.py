"""Pages from what a server sent: main text, title, publication date and links.

Reading happens in worker processes (`wildenv.web.extract.workers`); this package loads neither trafilatura, lxml nor pypdf.
"""

from wildenv.web.extract.workers import Extractor

__all__ = ["Extractor"]
