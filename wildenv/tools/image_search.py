"""``image_search``: downloads candidates and shows at most five, each with its id, title and page (Savanna, appendix B)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wildenv.errors import ToolError
from wildenv.images import ImageRecord
from wildenv.messages import image_block, text_block
from wildenv.tools.base import Arguments, Schema, ToolContext, ToolResult, function_schema
from wildenv.tools.fence import inert_line, inert_url
from wildenv.web.results import ImageHit

MAX_QUERY_CHARS = 400
MAX_RESULTS = 20


class ImageSearch:
    """Searches pictures.

    Args:
        spare: Further results asked for, to take the place of pictures that cannot be read.
        show_url: Whether the address of the picture itself is shown beside its page; costs tokens.
    """

    name = "image_search"

    def __init__(self, spare: int = 3, show_url: bool = True) -> None:
        self.spare = spare
        self.show_url = show_url

    def schema(self) -> Schema:
        """Returns the tool's JSON schema."""
        description = "Search pictures: shows candidates, each with its image id, title and page."
        return function_schema(self.name, description, {"query": {"type": "string"}}, ["query"])

    def run(self, context: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
        """Returns a text block and an image block for each candidate; ids count on through the episode.

        ``k`` is not in the schema but taken from callers that know it from elsewhere: fewer pictures than the budget allows.
        """
        given = Arguments(self.name, arguments, ["query", "k"])
        query = given.text("query", MAX_QUERY_CHARS)
        limits = context.budget.limits
        wanted = min(given.integer("k", limits.images_per_search, 1, MAX_RESULTS), limits.images_per_search)
        if context.budget.images_left < 1:
            raise ToolError(f"no pictures left: {limits.images} have been shown")
        room = min(wanted, context.budget.images_left)
        found = context.web.image_search(query, limits.images_per_search + self.spare, context.cutoff)
        result = ToolResult([], [decision.to_dict() for decision in found.decisions])
        shown: set[str] = set()
        left = list(found.results)
        while left and len(shown) < room:
            # Only as many as can be shown are fetched at the same time, so that none is fetched in vain.
            taken, left = left[: room - len(shown)], left[room - len(shown) :]
            for hit, record in zip(taken, _candidates(context, taken), strict=True):
                if isinstance(record, ToolError):
                    result.notes.append(f"{hit.url}: {record}")
                elif record.id in shown:
                    result.notes.append(f"{hit.url}: same picture as {record.id}")
                else:
                    shown.add(record.id)
                    address = f" | {inert_url(hit.url)}" if self.show_url else ""
                    line = f"{record.id}: {inert_line(hit.title)} | {inert_url(hit.page)}{address}"
                    result.blocks.extend((text_block(line), image_block(record.id, record.digest)))
        if left and room < wanted:
            result.notes.append(f"{len(left)} results: no pictures left")
            result.blocks.append(text_block(f"[cut: all {limits.images} pictures of the episode have been shown]"))
        if not shown:
            count = len(found.results)
            found_some = f"{count} picture{'s were' if count > 1 else ' was'} found and none of them could be fetched"
            result.blocks.append(text_block(f"{found_some if count else 'No pictures found'}; try other words."))
        return result


def _candidates(context: ToolContext, hits: Sequence[ImageHit]) -> Iterator[ImageRecord | ToolError]:
    """Yields the picture of each hit, or why there is none."""
    gallery = context.gallery
    urls = [url for url in dict.fromkeys(hit.url for hit in hits) if gallery.at(url) is None]
    fetched = dict(zip(urls, context.web.fetch_images(urls), strict=True))
    for hit in hits:
        known = gallery.at(hit.url)
        if known is not None:
            yield known
            continue
        picture = fetched[hit.url]
        if isinstance(picture, ToolError):
            yield picture
        else:
            with picture.opened() as image:
                record = gallery.add(image, url=hit.url, page=hit.page, title=hit.title)
            yield record
