"""Pages and pictures fetched from where they are, as they are now.

A page may have been edited after it was published, and after the cutoff; `wildenv.web.providers.wayback` has it as it was.
"""

from __future__ import annotations

from datetime import date

from wildenv.errors import Unavailable
from wildenv.web.extract import Extractor
from wildenv.web.net.fetch import Fetcher
from wildenv.web.net.spending import Spending
from wildenv.web.results import Page


class DirectPages:
    """Fetches pages from their own sites and extracts their text.

    Args:
        fetcher: Fetches.
        extractor: Extracts.
    """

    name = "direct"
    version = "1"
    local = False

    def __init__(self, fetcher: Fetcher, extractor: Extractor) -> None:
        self._fetcher = fetcher
        self._extractor = extractor
        self.extractor = extractor.version

    @property
    def spending(self) -> Spending:
        """That of the fetcher, whoever else uses it."""
        return self._fetcher.spending

    def fetch_page(self, url: str, cutoff: date | None) -> Page:
        """Returns the page at the end of all redirects; its `url` says where that is.

        Raises:
            ToolError: If the site says that there is no such page.
            Unavailable: If it cannot be had or read at the moment.
            DeadlineExceeded: If the tool call ran out of time.
        """
        got = self._fetcher.page(url)
        try:
            return self._extractor.page(got.data, got.url, got.media_type, got.charset)
        except Unavailable as error:
            # Named as it was asked for, as a replay will name it.
            raise Unavailable(url, error.kind, error.detail) from error


class DirectPictures:
    """Fetches pictures from their own sites.

    Args:
        fetcher: Fetches.
    """

    name = "direct"
    version = "1"
    local = False

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher

    @property
    def spending(self) -> Spending:
        """That of the fetcher, whoever else uses it."""
        return self._fetcher.spending

    def fetch_image(self, url: str) -> bytes:
        """Returns the bytes of a picture; errors as in `wildenv.web.net.fetch.Fetcher.picture`."""
        return self._fetcher.picture(url)
