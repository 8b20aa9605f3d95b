"""``workflow``: a fixed pipeline with a chat model at each stage, after Mind-Brush (Savanna, section 4.1).

Intent, keywords, text retrieval, injection of what was read into the request and the image queries, image retrieval, reasoning,
review. Each stage is one question with a JSON schema; the model never chooses a tool. Which stages are run follows from the
intent. The questions are not the recorded chat: the record shows the calls, each with the stages' JSON before it.

A reply that cannot be used is sent on as a turn without a call, which the environment counts, and the stage is asked again; a
model that fails raises. Unlike Mind-Brush's, references are separate pictures and not one grid.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from PIL import Image

from agents.chat_model import Tally, request_seed, unusable
from agents.prompts import load_prompt
from agents.turns import Candidate, Hit, failed, read_candidates, read_hits, read_page, say
from wildenv.errors import ConfigError, UsageError
from wildenv.images import ImageStore
from wildenv.messages import ANSWER, Block, Message, image_block, read_observation, text_block
from wildenv.models.base import Chat
from wildenv.models.reply import ReplyError
from wildenv.policy import Observation

_PLANS: dict[str, tuple[str, ...]] = {
    "Direct_Generation": (),
    "Reasoning_Generation": ("reason",),
    "Search_Generation": ("search",),
    "Reasoning_Search_Generation": ("reason", "search"),
    "Search_Reasoning_Generation": ("search", "reason"),
}
_QUERIES = 3
_SEEN = 5
"""Pictures that the reasoning stage sees."""


def _strings(count: int) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 400}, "maxItems": count}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_TEXT = {"type": "string", "pattern": r"\S"}
_INTENT = _object(need_process_problem=_strings(8), intent_category={"type": "string", "enum": list(_PLANS)})
_KEYWORDS = _object(text_queries=_strings(_QUERIES), image_queries=_strings(_QUERIES))
_INJECTION = _object(prompt=_TEXT, final_image_queries=_strings(_QUERIES))
_REASONING = _object(reasoning_knowledge=_TEXT)


@dataclass(frozen=True, slots=True)
class _Question:
    """What a stage asks the model: the name of its prompt, the schema of the reply, and what the model is given."""

    stage: str
    schema: dict[str, Any]
    content: list[Block]


@dataclass(slots=True)
class _Case:
    """What the pipeline knows of an episode."""

    request: str
    prompt: str
    problems: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    knowledge: str = ""
    pictures: list[Candidate] = field(default_factory=list)
    refusal: str = ""
    said: list[str] = field(default_factory=list)
    """The stages' JSON since the last call."""


# Yields questions and is sent JSON; yields messages and is sent observations.
_Script = Generator[_Question | Message, Any, Any]


class Workflow:
    """Plays one episode at a time; policies that play at once share a model.

    Args:
        model: Who is asked.
        pages_per_query: Pages read for each text query.
        page_chars: Characters of a page that later stages are given.
        references: References of the answer at most.
        send_seed: Whether requests carry a seed derived from the episode's; some endpoints refuse one.

    Raises:
        ConfigError: If a number is out of range.
    """

    system_prompt: str | None = None

    def __init__(
        self, model: Chat, pages_per_query: int = 2, page_chars: int = 3_000, references: int = 5, send_seed: bool = True
    ) -> None:
        for name, value in (("pages_per_query", pages_per_query), ("page_chars", page_chars), ("references", references)):
            if value < 1:
                raise ConfigError(f"agent.{name}={value} must be at least 1")
        self.model = model
        self.pages_per_query = pages_per_query
        self.page_chars = page_chars
        self.references = references
        self.send_seed = send_seed
        self._running: _Script | None = None
        self._waiting: _Question | None = None
        self._started = False
        self._tally = Tally()

    @property
    def usage(self) -> Mapping[str, float]:
        """What the model took in this episode so far; see `wildenv.policy.Policy`."""
        return self._tally.spent.to_dict()

    def reset(self, task_prompt: str, tools: Sequence[dict[str, Any]], seed: int = 0) -> None:
        """Starts an episode; see `wildenv.policy.Policy`."""
        self._prompt = task_prompt
        self._seed = seed
        self._requests = 0
        self._tally = Tally()
        self._store = ImageStore()
        self._running = self._waiting = None
        self._started = True

    async def act(self, observation: Observation) -> str | Message:
        """Returns the next call of the pipeline, or a turn without one if the model's reply cannot be used.

        Raises:
            UsageError: Before the first reset.
            ProviderError: If the model failed.
        """
        if not self._started:
            raise UsageError("call reset before act")
        step: _Question | Message
        if self._running is None:
            self._running = self._script(observation)
            step = next(self._running)
        else:
            step = self._waiting or self._running.send(observation)
        while isinstance(step, _Question):
            try:
                reply = await self._put(step)
            except ReplyError as error:
                self._waiting = step
                return unusable(error)
            self._waiting = None
            step = self._running.send(reply)
        return step

    async def _put(self, question: _Question) -> Any:
        self._requests += 1
        chat = [
            {"role": "system", "content": [text_block(load_prompt(f"workflow/{question.stage}"))]},
            {"role": "user", "content": question.content},
        ]
        seed = request_seed(self._seed, self._requests) if self.send_seed else None
        return (await self._tally.ask(self.model, chat, schema=question.schema, images=self._store, seed=seed)).data

    def _script(self, observation: Observation) -> _Script:
        case = _Case(observation["text"], self._prompt)
        intent = yield from self._ask(case, "intent", _INTENT)
        case.problems = intent["need_process_problem"]
        for stage in _PLANS[intent["intent_category"]]:
            if stage == "search":
                observation = yield from self._retrieve(case, observation)
            else:
                case.knowledge = (yield from self._ask(case, "reasoning", _REASONING, _SEEN))["reasoning_knowledge"]
        while True:
            ids = [picture.id for picture in case.pictures]
            chosen = {"type": "array", "items": {"enum": ids}, "maxItems": self.references} if ids else {"maxItems": 0}
            schema = _object(final_prompt=_TEXT, reference_image={"type": "array", **chosen})
            review = yield from self._ask(case, "review", schema, len(ids))
            observation = yield _turn(case, ANSWER, prompt=review["final_prompt"], references=review["reference_image"])
            # The environment ends the episode with an answer that it takes; this one it did not.
            case.refusal = "\n".join(read_observation(observation["text"])[0])

    def _retrieve(self, case: _Case, observation: Observation) -> _Script:
        """Runs keywords, text retrieval, injection and image retrieval; returns the last observation."""
        keywords = yield from self._ask(case, "keywords", _KEYWORDS)
        case.queries = keywords["image_queries"]
        kept = max(len(case.queries), 1)
        if keywords["text_queries"] and observation["calls_left"] > kept:
            observation = yield _turn(case, "text_search", queries=keywords["text_queries"])
            hits = read_hits(observation)
            case.read += [f"{hit.title}: {hit.snippet}" for hit in hits if hit.snippet]
            for hit in _first_of_each(hits, self.pages_per_query):
                if observation["calls_left"] > kept:
                    wanted = " ".join(case.problems) or case.prompt
                    observation = yield _turn(case, "web_fetch", url=hit.url, prompt=wanted[:2_000])
                    case.read += [] if failed(observation) else [read_page(observation)[: self.page_chars]]
        injected = yield from self._ask(case, "inject", _INJECTION)
        case.prompt = injected["prompt"]
        for query in dict.fromkeys(injected["final_image_queries"]):
            if observation["calls_left"] > 0:
                observation = yield _turn(case, "image_search", query=query)
                known = {picture.id for picture in case.pictures}
                # The first picture that could be had is kept; a second query may lead to the same one.
                case.pictures += [found for found in read_candidates(observation)[:1] if found.id not in known]
        return observation

    def _ask(self, case: _Case, stage: str, schema: dict[str, Any], pictures: int = 0) -> _Script:
        reply = yield _Question(stage, schema, self._content(case, pictures))
        case.said.append(f"{stage} {json.dumps(reply, ensure_ascii=False)}")
        return reply

    def _content(self, case: _Case, pictures: int) -> list[Block]:
        """Returns what is known so far, and some of the pictures."""
        parts = {
            "The request": case.request,
            "The request as rewritten": case.prompt if case.prompt not in case.request else "",
            "Questions": "\n".join(case.problems),
            "Image queries": "\n".join(case.queries),
            "What was read": "\n\n".join(case.read),
            "What was worked out": case.knowledge,
            "Your last answer was refused": case.refusal,
        }
        blocks = [text_block(f"{name}:\n{text}") for name, text in parts.items() if text]
        for picture in case.pictures[:pictures]:
            digest = self._store.put(Image.fromarray(picture.pixels))
            blocks += [text_block(f"{picture.id}: {picture.title}"), image_block(picture.id, digest)]
        return blocks


def _turn(case: _Case, tool: str, **arguments: Any) -> Message:
    thought, case.said = "\n".join(case.said), []
    return say(thought, tool, **arguments)


def _first_of_each(hits: Sequence[Hit], count: int) -> list[Hit]:
    """Returns the first hits of each query, the best of all queries before the second best, no address twice."""
    chosen: dict[str, Hit] = {}
    for hit in sorted((hit for hit in hits if hit.number <= count), key=lambda hit: hit.number):
        chosen.setdefault(hit.url, hit)
    return list(chosen.values())
