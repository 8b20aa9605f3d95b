"""A chat model as a policy: any OpenAI-compatible endpoint, or whatever else is a `wildenv.models.base.Chat`.

It rebuilds the chat that the environment records (`agents.transcript`) and asks the model for the next turn. Tool calls come in
native or in Hermes form, as the model's dialect says. Beside the recorded chat the policy may say a few things to its model, each
a line at the end of what the model is shown, for that one request:

* Answer now. If no tool call is left, or the turn is the last of `max_turns`, only ``answer`` is offered and asked for. A reply
  that is no answer is asked for once more in an episode. After that it is the environment's to decide: a call made without calls
  left is handed on as it is, which ends the episode; one made with calls left, because of `max_turns`, is not sent on, and its
  turn says so in words; an unreadable turn is handed on. No answer is ever made up.
* You searched for that. A search that has been made before is held back at first: the model is told and asked again, and what it
  then says is sent on, the same search included. This happens at most `reminders` times an episode.
* Be brief. A reply that was cut off is asked for once more, with the same limit. A second one is sent on as text without a call.

Refused, filtered, empty and unfinished replies are sent on as text without a call, too; the environment counts them as
unreadable. A model that fails, as opposed to one that answers badly, raises, and its episode is not scored.

None of this is in the record: an episode holds what the environment was told, and trainers see that alone. The counts are in
`ChatPolicy.counts`, and each case is logged at level INFO.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents.chat_model import Tally, not_sent, request_seed, unusable
from agents.prompts import load_prompt
from agents.transcript import Transcript
from wildenv.errors import ConfigError, MessageError, UsageError
from wildenv.messages import ANSWER, Action, Message, ToolCall, parse_action
from wildenv.models.base import Chat
from wildenv.models.dialect import with_request
from wildenv.models.reply import ReplyError
from wildenv.policy import Observation

Turn = str | dict[str, Any]

_LOG = logging.getLogger(__name__)

_SPARE_TURNS = 2
_SEARCHES = {"text_search": "queries", "image_search": "query"}


class ChatPolicy:
    """Plays one episode at a time; policies that play at once share a model.

    Args:
        model: Who is asked.
        prompt: Name of the system prompt (`agents.prompts`), or the path of a ``.txt`` file.
        max_turns: The last turn, in which an answer is asked for; None is two more than there are tool calls. The environment
            has a limit of its own (``env.limits.spare_turns``), which ends the episode.
        reminders: How often in an episode a repeated search is held back; 0 for never.
        send_seed: Whether requests carry a seed derived from the episode's; some endpoints refuse one.

    Attributes:
        system_prompt: First message of the chat; the rollout puts it into the environment's chat too.
        counts: Of this episode: ``answer_now``, ``answer_again``, ``repeats`` (searches made before, held back or not),
            ``reminders``, ``too_long`` and ``unusable`` replies.

    Raises:
        ConfigError: If the prompt is unknown or a number out of range.
    """

    def __init__(
        self, model: Chat, prompt: str = "lci", max_turns: int | None = None, reminders: int = 3, send_seed: bool = True
    ) -> None:
        if max_turns is not None and max_turns < 1:
            raise ConfigError(f"agent.max_turns={max_turns} must be at least 1; null is two more than there are tool calls")
        if reminders < 0:
            raise ConfigError(f"agent.reminders={reminders} must not be negative; 0 never holds a repeated search back")
        self.model = model
        self.system_prompt = load_prompt(prompt)
        self.max_turns = max_turns
        self.reminders = reminders
        self.send_seed = send_seed
        self.counts: Counter[str] = Counter()
        self._tally = Tally()
        self._transcript: Transcript | None = None

    @property
    def messages(self) -> list[Message]:
        """The chat so far, as the environment records it."""
        return [] if self._transcript is None else list(self._transcript.messages)

    @property
    def usage(self) -> Mapping[str, float]:
        """What the model took in this episode so far; see `wildenv.policy.Policy`."""
        return self._tally.spent.to_dict()

    def reset(self, task_prompt: str, tools: Sequence[dict[str, Any]], seed: int = 0) -> None:
        """Starts an episode; the task prompt comes again with the first observation, and is taken from there."""
        self._transcript = Transcript(self.system_prompt)
        self._tools = list(tools)
        self._seed = seed
        self._task_prompt = task_prompt
        self._requests = 0
        self._last_turn = self.max_turns
        self._searched: set[str] = set()
        self.counts = Counter()
        self._tally = Tally()

    async def act(self, observation: Observation) -> Turn:
        """Returns the model's next turn.

        Raises:
            UsageError: Before the first reset.
            ProviderError: If the model failed.
        """
        chat = self._transcript
        if chat is None:
            raise UsageError("call reset before act")
        chat.hear(observation)
        left = observation["calls_left"]
        if self._last_turn is None:
            self._last_turn = left + _SPARE_TURNS
        last = left < 1 or chat.turns + 1 >= self._last_turn
        turn = await (self._answer(chat, left) if last else self._search(chat))
        action = chat.say(turn)
        self._searched |= {query for call in action.calls for query in _queries(call)} if action else set()
        return turn

    async def _answer(self, chat: Transcript, left: int) -> Turn:
        """Asks for the answer, and for nothing else."""
        tools = [tool for tool in self._tools if tool["function"]["name"] == ANSWER]
        self._note("answer_now")
        turn = await self._ask(chat, tools, load_prompt("asides/answer_now"))
        if not _is_answer(turn) and not self.counts["answer_again"]:
            self._note("answer_again")
            turn = await self._ask(chat, tools, load_prompt("asides/answer_again"))
        action = _read(turn)
        if action and not _is_answer(turn) and left > 0:
            return not_sent(f"not sent on, for want of turns: {', '.join(call.name for call in action.calls)}", action.text)
        return turn

    async def _search(self, chat: Transcript) -> Turn:
        """Asks for any turn, and once more if it is a search that has been made."""
        turn = await self._ask(chat, self._tools)
        repeated = self._repeated(turn)
        if repeated and self.counts["reminders"] < self.reminders:
            self._note("reminders")
            turn = await self._ask(chat, self._tools, load_prompt("asides/asked_before").format(query=repeated))
            self._repeated(turn)
        return turn

    async def _ask(self, chat: Transcript, tools: list[dict[str, Any]], aside: str = "") -> Turn:
        messages = with_request(chat.messages, aside) if aside else list(chat.messages)
        try:
            return await self._complete(chat, messages, tools)
        except ReplyError as error:
            if error.kind != "length":
                return self._unusable(error)
        self._note("too_long")
        try:
            return await self._complete(chat, with_request(messages, load_prompt("asides/be_brief")), tools)
        except ReplyError as error:
            return self._unusable(error)

    async def _complete(self, chat: Transcript, messages: list[Message], tools: list[dict[str, Any]]) -> Turn:
        self._requests += 1
        seed = request_seed(self._seed, self._requests) if self.send_seed else None
        reply = await self._tally.ask(self.model, messages, tools=tools, images=chat.store, seed=seed)
        # As text, a turn that turns out to be unreadable is recorded as it was written.
        return reply.message() if reply.tool_calls else reply.text

    def _unusable(self, error: ReplyError) -> str:
        self._note("unusable", f"{error.kind}: {error}")
        return unusable(error)

    def _repeated(self, turn: Turn) -> str:
        """Returns a query of the turn whose search has been made, in this turn or before; empty if there is none."""
        action, seen = _read(turn), set(self._searched)
        for call in action.calls if action else ():
            asked = set(_queries(call))
            if asked and asked <= seen:
                query = ", ".join(_listed(call))
                self._note("repeats", query)
                return query
            seen |= asked
        return ""

    def _note(self, name: str, detail: str = "") -> None:
        self.counts[name] += 1
        _LOG.info("%s (%.60s): %s", name, self._task_prompt, detail)


def _read(turn: Turn) -> Action | None:
    try:
        return parse_action(turn)
    except MessageError:
        return None


def _is_answer(turn: Turn) -> bool:
    action = _read(turn)
    return action is not None and action.calls[0].name == ANSWER


def _queries(call: ToolCall) -> Iterator[str]:
    """Yields what a search asks for, one string a query; equal ones bring the same results. Other tools yield nothing."""
    name = _SEARCHES.get(call.name)
    rest = {key: value for key, value in call.arguments.items() if key != name}
    for query in _listed(call):
        # Quotes and signs are operators to a search engine: only case and spaces are evened out.
        yield json.dumps([call.name, " ".join(query.casefold().split()), rest], sort_keys=True)


def _listed(call: ToolCall) -> list[str]:
    """Returns the queries of a search as they were written."""
    given = call.arguments.get(_SEARCHES[call.name]) if call.name in _SEARCHES else None
    return [query for query in (given if isinstance(given, list) else [given]) if isinstance(query, str)]
