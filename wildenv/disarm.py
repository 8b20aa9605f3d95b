"""Takes the markup of chats and the control tokens of tokenizers out of a text, so that a model reads it as text.

For whatever strangers wrote and a model is shown: pages, titles, prompts to be judged. A person still reads it. It does not judge
what the text says: it may still try to persuade.
"""

from __future__ import annotations

import re

INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Characters that are not seen."""

_BREAK = re.compile("\r\n?|[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")
_TOKEN_END = re.compile("[|\uff5c]>")
# The control tokens that some tokenizers write in square brackets.
_BRACKET_TOKEN = re.compile(
    r"\[(?=/?(?:INST|IMG|IMG_BREAK|IMG_END|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|AVAILABLE_TOOLS|SYSTEM_PROMPT|ARGS|CALL_ID"
    r"|PREFIX|SUFFIX|MIDDLE|CLS|SEP|PAD|MASK|UNK|gMASK|sMASK)\])"
)


def disarm(text: str) -> str:
    """Returns text without markup and control tokens. Image ids and notices stay: this is for text of the environment itself.

    Every ``<`` goes, since which of them begin a token depends on the model.
    """
    text = INVISIBLE.sub("", _BREAK.sub("\n", text))
    return _BRACKET_TOKEN.sub("(", _TOKEN_END.sub("|›", text.replace("<", "‹").replace("＜", "‹")))
