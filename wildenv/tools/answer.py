"""The schema of ``answer``, the call that ends an episode; the environment itself carries it out."""

from __future__ import annotations

from wildenv.messages import ANSWER
from wildenv.tools.base import Schema, function_schema


def answer_schema() -> Schema:
    """Returns the JSON schema of ``answer``."""
    properties = {
        "prompt": {"type": "string", "description": "refined prompt; keeps every condition of the request"},
        "references": {"type": "array", "items": {"type": "string"}, "description": "image ids for the generator"},
    }
    return function_schema(ANSWER, "End with the prompt and the reference pictures.", properties, ["prompt", "references"])
