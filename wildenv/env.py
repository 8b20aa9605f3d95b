"""The environment: one episode is one task, from the prompt to the answer.

`WildEnv` orchestrates; searching, cutting, judging and recording are done by the rooms it calls. It plays one episode at a
time, is not thread-safe, and never resets itself. Secrets (`wildenv.secrets`) are replaced in all that enters its record. Nothing
of a task's hidden half is given to the agent; what the web says is not checked for truth.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Literal

import gymnasium

from wildenv.aio import run_sync
from wildenv.budget import Budget, Limits
from wildenv.chronicle import Chronicle
from wildenv.episode import INFRASTRUCTURE, EndReason, Episode
from wildenv.episode_form import check_rows
from wildenv.errors import ConfigError, InfrastructureError, MessageError, ToolError, UsageError, told
from wildenv.images import Gallery, ImageStore, PixelPolicy
from wildenv.judges.base import Submission
from wildenv.messages import (
    ANSWER,
    Answer,
    Message,
    ToolCall,
    observation_text,
    parse_action,
    parse_answer,
    text_block,
)
from wildenv.policy import Observation
from wildenv.rewards.base import Reward, RewardReport, checked_report
from wildenv.scoring import UNASKED, ask, submission_of, unscored, write_report
from wildenv.secrets import scrub
from wildenv.spaces import Pictures, Unicode
from wildenv.task import Task, TaskSource
from wildenv.tools.answer import answer_schema
from wildenv.tools.base import Schema, Tool, ToolContext
from wildenv.tools.crop_image import CropImage
from wildenv.tools.image_search import ImageSearch
from wildenv.tools.text_search import TextSearch
from wildenv.tools.web_fetch import WebFetch
from wildenv.web.client import WebClient
from wildenv.web.cutoff import PageWithheld
from wildenv.web.deadline import tool_deadline

SYSTEM_PROMPT = (
    "You prepare reference pictures for an image generator. Find out what the thing in the request is and what it looks like, "
    "find pictures that show exactly it, and end with answer(prompt, references): a prompt that keeps every condition of the "
    "request, and image ids."
)
"""Put in front of every chat unless the policy brings its own."""

_ERROR_CHARS = 500


class WildEnv(gymnasium.Env[Observation, str | dict[str, Any]]):
    """A web to search, four tools to search it with, and an answer that ends the episode.

    An action is one assistant message in any form `wildenv.messages.parse_action` reads. An observation is a dict
    of ``text``, ``images`` (uint8, height x width x 3) and ``calls_left``. `info` has ``messages`` (the chat so far),
    ``task_id``, ``end_reason``, ``failure``, ``reward_valid``, ``rewards`` and ``digest`` (of the episode, once it has
    ended).

    Args:
        tasks: Where tasks come from.
        web: The web the tools see.
        reward: Scores the answer; None leaves every reward invalid.
        limits: The budget.
        pixels: How large the agent sees pictures.
        tools: The tools; the four of the paper by default.
        store: Where pixels go; by default a store in memory that each reset replaces.
        system_prompt: First message of the chat.
        tool_deadline_s: Seconds of wall clock that one tool call may wait for the web; None sets no limit, and a replay has none.
            A call that takes longer ends the episode as an infrastructure failure.
        render_mode: ``"ansi"`` for the chat as text, or None.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - gymnasium's own spelling

    def __init__(
        self,
        tasks: TaskSource,
        web: WebClient,
        reward: Reward | None = None,
        limits: Limits | None = None,
        pixels: PixelPolicy | None = None,
        tools: Sequence[Tool] | None = None,
        store: ImageStore | None = None,
        system_prompt: str = SYSTEM_PROMPT,
        tool_deadline_s: float | None = 60.0,
        render_mode: str | None = None,
    ) -> None:
        if tool_deadline_s is not None and not tool_deadline_s > 0:
            raise ConfigError(f"env.tool_deadline_s={tool_deadline_s} must be above 0; null sets no limit")
        if render_mode not in (None, "ansi"):
            raise ConfigError(f"render_mode={render_mode!r}: only 'ansi' and None are known")
        self.tasks = tasks
        self.web = web
        self.reward = reward
        self.limits = limits or Limits()
        self.pixels = pixels or PixelPolicy()
        self.store = store or ImageStore()
        self._fresh_store = store is None
        self.system_prompt = system_prompt
        self.tool_deadline_s = tool_deadline_s
        self.render_mode = render_mode
        chosen: list[Tool] = list(tools) if tools is not None else [TextSearch(), WebFetch(), ImageSearch(), CropImage()]
        self._tools = {tool.name: tool for tool in chosen}
        if ANSWER in self._tools or len(self._tools) != len(chosen):
            raise ConfigError("tools: two tools share a name, or one is called 'answer'")
        self.observation_space = gymnasium.spaces.Dict(  # type: ignore[assignment] # a typed dict is a dict
            {
                "text": Unicode(),
                "images": Pictures(max_count=self.limits.images, max_pixels=self.pixels.max_pixels),
                "calls_left": gymnasium.spaces.Discrete(self.limits.tool_calls + 1),
            }
        )
        self.action_space = Unicode()
        self._episode: Episode | None = None
        self._task: Task | None = None
        self._submission: Submission | None = None
        self._scoring = False

    def tools_schema(self) -> list[Schema]:
        """Returns the tools' JSON schemas, ``answer`` last, in OpenAI's form."""
        return [*(tool.schema() for tool in self._tools.values()), answer_schema()]

    @property
    def episode(self) -> Episode:
        """The record of the running or ended episode.

        Raises:
            UsageError: Before the first reset.
        """
        if self._episode is None:
            raise UsageError("there is no episode yet: call reset first")
        return self._episode

    @property
    def scoring(self) -> bool:
        """Whether the agent has had its last turn and the episode is being scored, or has been. May be read from any thread."""
        return self._scoring

    @property
    def submission(self) -> Submission | None:
        """What the episode answered, for whoever scores it; None without an answer."""
        return self._submission

    @property
    def ended(self) -> bool:
        """Whether there was an episode and it has ended."""
        return self._episode is not None and self._ended

    @property
    def task_prompt(self) -> str:
        """What the user of the running episode asks for."""
        return str(self.episode.task["prompt"])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: Draws the task; the same seed draws the same one.
            options: ``task_id`` names the task instead; ``system_prompt`` replaces the first message; ``policy`` names the
                policy in the record.

        Raises:
            ConfigError: If an option or the task id is unknown.
        """
        super().reset(seed=seed)
        given = dict(options or {})
        task_id, system_prompt = given.pop("task_id", None), given.pop("system_prompt", None) or self.system_prompt
        policy = given.pop("policy", "")
        if given:
            raise ConfigError(f"reset(options=...): unknown options {sorted(given)}")
        for name, value in (("system_prompt", system_prompt), ("policy", policy), ("task_id", task_id or "")):
            if not isinstance(value, str):
                raise ConfigError(f"{name}={value!r} must be a string")
        draw = int(self.np_random.integers(len(self.tasks)))
        self._task = task = self.tasks[draw] if task_id is None else self.tasks.by_id(task_id)
        if self._fresh_store:
            self.store = ImageStore()
        self._gallery = Gallery(self.store, self.pixels)
        self._budget = Budget(self.limits, self.pixels)
        self._ended = self._scoring = False
        self._submission = None
        opening = f"{task.prompt}\nToday is {task.issued.isoformat()}."
        messages: list[Message] = [
            {"role": "system", "content": [text_block(system_prompt)]},
            {"role": "user", "content": [text_block(opening)]},
        ]
        self._episode = Episode(
            task=task.public(),
            web=self.web.digest,
            seed=-1 if seed is None else seed,
            policy=policy,
            tools=self.tools_schema(),
            messages=messages,
            end_reason="turns",
        )
        self._chronicle = Chronicle(self._episode, self._gallery, self._budget)
        return self._observe(opening, []), self._info()

    def step(self, action: str | dict[str, Any]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Plays one assistant turn.

        Returns:
            Observation, reward (0 until the end), whether the episode was answered, whether it was cut off, info.

        Raises:
            UsageError: Before the first reset and after the end of an episode.
        """
        if self._episode is None:
            raise UsageError("call reset before step")
        if self._ended:
            raise UsageError("the episode has ended; call reset before the next step")
        self._budget.turns += 1
        try:
            parsed = parse_action(action, self._budget.turns)
        except MessageError as error:
            replies = [self._chronicle.unreadable(action, error)]
        else:
            self._chronicle.said(parsed)
            if parsed.calls[0].name != ANSWER and self._budget.calls_left < 1:
                return self._end("budget", self._close(parsed.calls))
            replies = []
            for call in parsed.calls:
                if call.name == ANSWER:
                    outcome = self._answer(call)
                    if isinstance(outcome, Answer):
                        return self._judge(outcome)
                    replies.append(outcome)
                    continue
                try:
                    replies.append(self._call(call))
                except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - a tool's failure is not the agent's doing
                    failure = f"{call.name}: {told(error)}"
                    self._chronicle.broken(call, failure)
                    return self._end("web" if isinstance(error, InfrastructureError) else "tool", replies, failure=failure)
        if self._budget.out_of_turns:
            return self._end("turns", replies)
        if self._budget.tokens > self.limits.tokens:
            return self._end("context", replies)
        return self._observe(observation_text(replies), replies), 0.0, False, False, self._info()

    def fail(self, reason: EndReason, failure: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Ends the episode from outside because something other than the agent failed: a policy that raised, a deadline.

        Raises:
            UsageError: If there is no running episode, or the reason is not one of `wildenv.episode.INFRASTRUCTURE`.
        """
        self._check_running()
        if reason not in INFRASTRUCTURE:
            raise UsageError(f"fail({reason!r}): the reason must be one of {', '.join(sorted(INFRASTRUCTURE))}")
        return self._end(reason, [], failure=failure)

    def stop(self, reason: Literal["turns", "context"]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Ends the episode because the agent has used up what whoever runs it allows: a context counted in a model's own tokens,
        or a turn without a call where that ends the chat.

        Raises:
            UsageError: If there is no running episode.
        """
        self._check_running()
        return self._end(reason, [])

    def settle(self, report: RewardReport) -> None:
        """Scores an ended episode of an environment without a reward, by a reward that was asked elsewhere.

        Raises:
            UsageError: If it has not ended, has failed, or the environment scores for itself.
            DataError: If an episode cannot hold the report.
        """
        if not self.ended or self.reward is not None or self.episode.failure is not None:
            raise UsageError("settle(report): the episode must have ended, not failed, and the environment have no reward")
        write_report(self.episode, checked_report(report))
        failure = unscored(report, report)
        if failure is not None:
            self.episode.end_reason, self.episode.failure = "judge", scrub(failure)

    def _check_running(self) -> None:
        if self._episode is None or self._ended:
            raise UsageError("there is no running episode to end")

    def render(self) -> str | None:
        """Returns the chat as text in mode ``"ansi"``."""
        if self.render_mode is None:
            return None
        lines = []
        for message in self.episode.messages:
            lines.append(f"--- {message['role']}")
            lines.append(observation_text([{**message, "role": "user"}]))
            functions = [call["function"] for call in message.get("tool_calls", [])]
            lines.extend(f"-> {function['name']} {function['arguments']}" for function in functions)
        return "\n".join(lines)

    def _call(self, call: ToolCall) -> Message:
        started = time.perf_counter()
        error = ""
        decisions: list[dict[str, Any]] = []
        notes: list[str] = []
        if self._budget.calls_left < 1:
            blocks = [text_block("[error] no tool calls left; answer now")]
            error = "no tool calls left"
        else:
            self._budget.tool_calls += 1
            try:
                if call.name not in self._tools:
                    raise ToolError(f"there is no tool {call.name[:40]!r}; the tools are {', '.join(self._tools)} and {ANSWER}")
                assert self._task is not None
                context = ToolContext(self.web, self._gallery, self._budget, self._task.cutoff)
                # A replay waits for nobody; a deadline would make it depend on how busy the machine is.
                with tool_deadline(None if self.web.mode == "replay" else self.tool_deadline_s):
                    result = self._tools[call.name].run(context, call.arguments)
                blocks, decisions, notes = list(result.blocks), result.decisions, result.notes
                check_rows("decisions", [{"call": call.id, **decision} for decision in decisions])
                check_rows("steps", [{"call": call.id, "name": call.name, "ok": True, "error": "", "notes": notes}])
            except ToolError as refused:
                error = str(refused)[:_ERROR_CHARS]
                blocks = [text_block(f"[error] {error}")]
                if isinstance(refused, PageWithheld):
                    decisions = [refused.decision.to_dict()]
            if self._budget.calls_left == 0:
                blocks.append(text_block("[0 tool calls left: answer now]"))
        return self._chronicle.replied(call, blocks, error, decisions, notes, time.perf_counter() - started)

    def _answer(self, call: ToolCall) -> Answer | Message:
        try:
            answer = parse_answer(call)
            for image_id in answer.references:
                self._gallery.record(image_id)
            if len(answer.references) > self.limits.references:
                raise ToolError(f"{len(answer.references)} references; at most {self.limits.references} are taken")
        except (MessageError, ToolError) as error:
            return self._chronicle.refused(call, str(error))
        return answer

    def _close(self, calls: Sequence[ToolCall]) -> list[Message]:
        error = "no tool calls left; the episode ends without an answer"
        return [self._chronicle.refused(call, error) for call in calls]

    def _judge(self, answer: Answer) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        self._submission = submission_of(answer, self._gallery, self.store, self._budget.usage())
        self.episode.answer = {"prompt": scrub(answer.prompt), "references": list(answer.references)}
        report = self._score(self._submission)
        failure = None if self.reward is None else unscored(report, self.reward)
        return self._end("answered" if failure is None else "judge", [], failure=failure, report=report)

    def _score(self, submission: Submission | None) -> RewardReport:
        self._scoring = True
        if self.reward is None:
            return UNASKED
        assert self._task is not None
        return run_sync(ask(self.reward, self._task, submission))

    def _end(
        self, reason: EndReason, replies: list[Message], failure: str | None = None, report: RewardReport | None = None
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        self._ended = True
        episode = self.episode
        if report is None:
            report = UNASKED if reason in INFRASTRUCTURE else self._score(None)
        episode.end_reason, episode.failure = reason, None if failure is None else scrub(failure)
        write_report(episode, report)
        episode.usage = self._budget.usage()
        answered = episode.answer is not None
        return self._observe(observation_text(replies), replies), report.value, answered, not answered, self._info()

    def _observe(self, text: str, replies: list[Message]) -> Observation:
        ids = [block["id"] for message in replies for block in message["content"] if block["type"] == "image"]
        return {
            "text": text,
            "images": tuple(self._gallery.shown(image_id) for image_id in ids),
            "calls_left": self._budget.calls_left,
        }

    def _info(self) -> dict[str, Any]:
        episode = self.episode
        return {
            "messages": [dict(message) for message in episode.messages],
            "task_id": episode.task_id,
            "end_reason": episode.end_reason if self._ended else "",
            "failure": episode.failure or "",
            "reward_valid": episode.reward_valid,
            "rewards": {name: value for name, value in episode.rewards.items() if value is not None},
            "digest": episode.digest() if self._ended else "",
        }
