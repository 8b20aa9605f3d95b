"""``text_search``: one to three queries, ranked organic results (Savanna, appendix B)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wildenv.messages import text_block
from wildenv.tools.base import Arguments, Schema, ToolContext, ToolResult, function_schema
from wildenv.tools.fence import inert_line, inert_url

MAX_QUERIES = 3
MAX_QUERY_CHARS = 400
MAX_RESULTS = 10


class TextSearch:
    """Searches pages.

    Args:
        default_k: Results a query when the agent does not say.
        snippet_chars: Characters of a snippet that are shown.
    """

    name = "text_search"

    def __init__(self, default_k: int = 5, snippet_chars: int = 300) -> None:
        self.default_k = default_k
        self.snippet_chars = snippet_chars

    def schema(self) -> Schema:
        """Returns the tool's JSON schema."""
        queries = {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MAX_QUERIES}
        k = {"type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "default": self.default_k}
        description = (
            f"Search web pages with one to {MAX_QUERIES} queries; k results each, with title, date, address and snippet."
        )
        return function_schema(self.name, description, {"queries": queries, "k": k}, ["queries"])

    def run(self, context: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
        """Returns one text block a query."""
        given = Arguments(self.name, arguments, ["queries", "k"])
        queries = given.texts("queries", MAX_QUERIES, MAX_QUERY_CHARS)
        k = given.integer("k", self.default_k, 1, MAX_RESULTS)
        result = ToolResult([])
        for query in queries:
            found = context.web.text_search(query, k, context.cutoff)
            result.decisions.extend(decision.to_dict() for decision in found.decisions)
            lines = [f"Results for {inert_line(query)}:" if len(queries) > 1 else ""]
            for number, hit in enumerate(found.results, 1):
                date = f" ({inert_line(hit.published)})" if hit.published else ""
                lines.append(f"[{number}] {inert_line(hit.title)}{date} {inert_url(hit.url)}")
                snippet = inert_line(hit.snippet)
                if len(snippet) > self.snippet_chars:
                    result.notes.append(f"{len(snippet) - self.snippet_chars} characters of the snippet of {hit.url}")
                    snippet = f"{snippet[: self.snippet_chars].rstrip()} [cut]"
                lines.append(snippet)
            if not found.results:
                lines.append("No results; try other words.")
            text, cut = context.budget.cut("\n".join(filter(None, lines)), "ask for fewer results")
            if cut:
                result.notes.append(f"{cut} characters of the results for {query!r}")
            result.blocks.append(text_block(text))
        return result
