"""What a recorded web holds, request by request, in words.

Works on packs and on stores. Entries are shown as they are stored; `wildenv.web.packs.pack.verify_pack` checks them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wildenv.errors import ConfigError, DataError
from wildenv.strict_json import loads
from wildenv.web.packs.pack import open_recorded
from wildenv.web.request import WEB_TOOLS, WebRequest
from wildenv.web.store import Gap, Row

GAP = "no answer"
"""What is shown for a request that was made and got no answer."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One recorded request.

    Attributes:
        tool: The tool that made it.
        text: Its query or address.
        cutoff: Last visible day, as an ISO date; None for no cutoff.
        provider: Who was asked: name, version and extractor.
        params: Its other parameters.
        answer: The answer in a few words.
        key: Key of the request.
        digest: Digest of the response; None for a gap.
    """

    tool: str
    text: str
    cutoff: str | None
    provider: str
    params: dict[str, Any]
    answer: str
    key: str
    digest: str | None

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        return asdict(self)


def list_pack(path: str | Path, tool: str | None = None, text: str = "", inside: bool = False) -> Iterator[Listed]:
    """Lists recorded requests, answered ones by tool and key first, then those without an answer.

    Args:
        path: A pack or store.
        tool: Only this one's requests.
        text: Only requests whose query or address has this in it, whatever the case.
        inside: Look for `text` in the answers, too.

    Raises:
        ConfigError: If `tool` is no tool of the web.
        DataError: If an entry cannot be read; further errors as in `open_recorded`.
    """
    if tool is not None and tool not in WEB_TOOLS:
        raise ConfigError(f"tool={tool!r} is none of {', '.join(WEB_TOOLS)}")
    wanted = text.casefold()
    with open_recorded(path) as store:
        entries, gaps = store.listing(WEB_TOOLS if tool is None else (tool,))
        for row in store.rows([entry[:2] for entry in entries]):
            found = listed(row)
            if wanted in found.text.casefold() or (
                inside and wanted in json.dumps(response_of(row), ensure_ascii=False).casefold()
            ):
                yield found
        yield from (found for found in map(listed, gaps) if wanted in found.text.casefold())


def listed(found: Row | Gap) -> Listed:
    """Describes an entry or gap; raises `DataError` if it cannot be read."""
    request = request_of(found)
    answer, digest = (GAP, None) if isinstance(found, Gap) else (describe(response_of(found)), found.digest)
    others = {name: value for name, value in request.params.items() if name not in ("query", "url")}
    cutoff = None if request.cutoff is None else request.cutoff.isoformat()
    return Listed(request.tool, request.text, cutoff, provider_of(request), others, answer, found.key, digest)


def request_of(found: Row | Gap) -> WebRequest:
    """Returns the request of an entry or gap; raises `DataError` if it cannot be read."""
    try:
        return WebRequest.from_dict(loads(found.request))
    except (ValueError, DataError) as error:
        raise DataError(f"the request of {found.tool} {found.key[:12]} cannot be read; verify the pack") from error


def provider_of(request: WebRequest) -> str:
    """Returns who was asked: name, version, and extractor if there is one."""
    return " ".join(filter(None, (request.provider, request.version, request.extractor)))


def response_of(row: Row) -> dict[str, Any]:
    """Returns the response of an entry; raises `DataError` if it cannot be read."""
    try:
        return dict(loads(row.response))
    except (ValueError, TypeError) as error:
        raise DataError(f"the response of {row.tool} {row.key[:12]} cannot be read; verify the pack") from error


def describe(response: Mapping[str, Any]) -> str:
    """Returns a response in a few words."""
    if "absent" in response:
        return "absent"
    if "results" in response:
        return _counted(len(response["results"]), "result")
    if "page" in response:
        return f"page of {_counted(len(response['page']['text']), 'character')}"
    if "blob" in response:
        return str(response.get("media_type", "bytes"))
    if "said" in response:
        return f"{_counted(len(str(response['said'])), 'character')} said"
    return f"fields {', '.join(sorted(response))}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
