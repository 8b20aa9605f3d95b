"""Writes down what happens in an episode: what the agent says, what it is told, and what both cost."""

from __future__ import annotations

from typing import Any

from wildenv.budget import Budget
from wildenv.disarm import disarm
from wildenv.episode import Episode
from wildenv.errors import MessageError
from wildenv.images import Gallery
from wildenv.messages import (
    Action,
    Block,
    Message,
    ToolCall,
    assistant_message,
    text_block,
    text_of,
    to_hermes,
    tool_message,
    unreadable_message,
)
from wildenv.secrets import scrub, scrubbed


class Chronicle:
    """The hand that writes one episode; secrets (`wildenv.secrets`) do not get past it.

    Args:
        episode: The record; its messages so far are counted.
        gallery: The pictures that were shown.
        budget: Counts what is written.
    """

    def __init__(self, episode: Episode, gallery: Gallery, budget: Budget) -> None:
        self._episode = episode
        self._gallery = gallery
        self._budget = budget
        for message in episode.messages:
            budget.spend_text(text_of(message))
        episode.usage = budget.usage()

    def said(self, action: Action) -> None:
        """Writes a turn of the agent."""
        message = scrubbed(assistant_message(action))
        self._episode.messages.append(message)
        self._budget.spend_text(to_hermes(message))

    def unreadable(self, action: Any, error: MessageError) -> Message:
        """Writes a turn that cannot be read; returns what it is told."""
        said = scrubbed(unreadable_message(action))
        reply: Message = {"role": "user", "content": [text_block(scrub(f"[error] {error}"))]}
        self._episode.messages += [said, reply]
        self._budget.unreadable += 1
        self._budget.spend_text(text_of(said) + str(error))
        self._log("", "", str(error), [], 0.0)
        return reply

    def replied(
        self,
        call: ToolCall,
        blocks: list[Block],
        error: str = "",
        decisions: list[dict[str, Any]] | None = None,
        notes: list[str] | None = None,
        seconds: float = 0.0,
    ) -> Message:
        """Writes the reply to a call; returns it as the agent is shown it."""
        # A tool of a third party may forget what the fence is for; an error may quote what the agent wrote.
        inert = [text_block(disarm(scrub(block["text"]))) if block["type"] == "text" else block for block in blocks]
        message = tool_message(call, inert)
        for block in inert:
            if block["type"] == "image":
                self._budget.spend_image(*self._gallery.shown_size(block["id"]))
            else:
                self._budget.spend_text(block["text"])
        episode = self._episode
        episode.images += [scrubbed(record.to_dict()) for record in self._gallery.since(len(episode.images))]
        episode.messages.append(message)
        episode.decisions += [{"call": call.id, **scrubbed(decision)} for decision in decisions or []]
        self._log(call.id, call.name, error, notes or [], seconds)
        return message

    def refused(self, call: ToolCall, error: str) -> Message:
        """Writes that a call was not carried out; returns the reply."""
        return self.replied(call, [text_block(f"[error] {error}")], error)

    def broken(self, call: ToolCall, failure: str) -> None:
        """Writes that a tool failed for no fault of the agent's; it gets no reply."""
        self._log(call.id, call.name, failure, [], 0.0)

    def _log(self, call_id: str, name: str, error: str, notes: list[str], seconds: float) -> None:
        step = {"call": call_id, "name": name, "ok": not error, "error": error, "notes": notes}
        self._episode.steps.append(scrubbed(step))
        self._episode.timings.append(round(seconds, 6))
        self._episode.usage = self._budget.usage()
