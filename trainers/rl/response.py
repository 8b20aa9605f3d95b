"""How TRL reads calls out of what a model wrote, for chat templates that it does not know."""

from __future__ import annotations

from typing import Any

HERMES: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "tool_calls": {
            "open": "<tool_call>",
            "close_pattern": r"</tool_call>\s*",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|im_end\|>\s*", "content": "text"},
    },
}
"""A response template of transformers: JSON in ``<tool_call>`` tags, in a ChatML turn."""


def let_read(tokenizer: Any) -> None:
    """Gives a tokenizer without a response template `HERMES`: TRL takes no tools without, though our roller reads for itself."""
    if getattr(tokenizer, "response_template", None) is None:
        tokenizer.response_template = HERMES
