"""What all judges that ask a chat model share: what they show it, how strictly they read it, and when they stay unscored.

A reply is checked against a JSON schema that leaves no room for interpretation; the chat client shows a first reply that does not
fit to the model once, and a second one leaves the case unscored. So does a service that fails, a refusal, a picture that is
missing. Nothing is rounded to the grid, padded, cut or taken for a boolean. What a model says within the schema is believed.

Verdicts are kept by the store of the chat client, under a key that holds the whole prompt and the digests of all pictures. The id
of a judge holds the version of its rules: whoever changes a prompt or a schema raises it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from wildenv.errors import DataError, InfrastructureError, ProviderError
from wildenv.judges import wording
from wildenv.judges.base import Submission, Truth, Verdict
from wildenv.judges.wording import Material, Shown
from wildenv.models.base import Chat
from wildenv.models.reply import Reply, ReplyError
from wildenv.models.usage import Usage
from wildenv.task import Task

STRING: Mapping[str, Any] = MappingProxyType({"type": "string", "pattern": r"\S"})
"""Schema of a text that says something."""

_RAW_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply that fits its schema means; see `Verdict`."""

    value: float | None
    reason: str
    parts: Mapping[str, float | None] = field(default_factory=lambda: MappingProxyType({}))
    evidence: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


class ModelJudge(ABC):
    """Implements `Judge` over a chat model; a subclass says what is asked and what the answer means.

    Args:
        chat: The model.
        truth: Who holds the ground truth.

    Attributes:
        name: Of the judge, and of its file in ``prompts``.
        rules: Version of prompt and schema.
        needs_references: Whether an answer without references is 0 unasked.
        needs_picture: Whether a generator must have drawn.
        needs_truth: Whether a task without ground truth cannot be judged.
    """

    name: ClassVar[str]
    rules: ClassVar[int]
    needs_references: ClassVar[bool] = False
    needs_picture: ClassVar[bool] = False
    needs_truth: ClassVar[bool] = True

    def __init__(self, chat: Chat, truth: Truth) -> None:
        self.chat = chat
        self.truth = truth
        self.id = f"{self.name}-{self.rules}:{chat.model}"

    async def judge(self, task: Task, submission: Submission) -> Verdict:
        """Returns a verdict; unscored if the model, its reply or the material fails.

        Raises:
            ConfigError: If a setting of the model is wrong, such as a key that is missing.
        """
        if self.needs_references and not submission.references:
            return Verdict(self.id, 0.0, "there are no references")
        evidence: dict[str, Any] = {}
        usage = Usage()
        try:
            truth = evidence["ground_truth"] = self.pictures(task, submission)
            reply = await self.ask(task, self.material(task, submission, truth), self.schema(task), submission)
            usage = reply.usage
            evidence |= {**reply.data, "asked": asked(reply)}
            reading = self.read(task, reply.data)
        except (DataError, InfrastructureError) as error:
            return self.unscored(error, evidence, usage + spent(error))
        return Verdict(self.id, reading.value, reading.reason, {**evidence, **reading.evidence}, usage.to_dict(), reading.parts)

    @abstractmethod
    def material(self, task: Task, submission: Submission, truth: list[str]) -> Mapping[str, Material]:
        """Returns what goes into the places of the prompt; `truth` are the digests of the ground truth, in the store."""

    @abstractmethod
    def schema(self, task: Task) -> Mapping[str, Any]:
        """Returns the schema of the reply; raises `DataError` if the task lacks what is judged."""

    @abstractmethod
    def read(self, task: Task, data: Mapping[str, Any]) -> Reading:
        """Returns what a reply of that schema means; raises `DataError` if it contradicts itself."""

    async def ask(self, task: Task, material: Mapping[str, Material], schema: Mapping[str, Any], submission: Submission) -> Reply:
        """Asks the model; raises `DataError` or `InfrastructureError` if there is no usable reply."""
        messages = wording.chat(self.name, material)
        return await self.chat.complete(messages, schema=schema, images=submission.store)

    def pictures(self, task: Task, submission: Submission) -> list[str]:
        """Puts the ground truth into the store and returns its digests.

        Raises:
            DataError: If there is none, nothing was drawn, or a picture of the submission is not in the store.
        """
        if self.needs_picture and submission.drawn is None:
            raise DataError("nothing was drawn; set reward.generator")
        handed = [reference.digest for reference in submission.references]
        drawn = [] if submission.drawn is None else [submission.drawn.digest]
        for digest in (*handed, *drawn):
            if digest not in submission.store:
                raise DataError(f"picture {digest[:12]} of the submission is lost")
        if not (self.needs_truth or task.ground_truth):
            return []
        return [submission.store.put(image) for image in self.truth.pictures(task)]

    def unscored(self, error: Exception, evidence: Mapping[str, Any], usage: Usage) -> Verdict:
        """Returns the verdict that says why there is none."""
        found = dict(evidence)
        if isinstance(error, ReplyError):
            found |= {"failure": error.kind, "raw": error.raw[:_RAW_CHARS]}
        elif isinstance(error, ProviderError):
            found["failure"] = error.kind
        return Verdict(self.id, None, f"unscored: {error}", found, usage.to_dict())


def spent(error: Exception) -> Usage:
    """Returns what a reply took that could not be used."""
    return error.usage if isinstance(error, ReplyError) else Usage()


def asked(reply: Reply) -> dict[str, Any]:
    """Returns who replied and how, for the record."""
    return {
        "model": reply.model,
        "fingerprint": reply.fingerprint,
        "seed": reply.seed,
        "temperature": reply.temperature,
        "repaired": reply.repaired,
    }


def closed(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": {name: dict(schema) for name, schema in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


def listed(items: Mapping[str, Any], count: int | None = None) -> dict[str, Any]:
    """Returns the schema of a list, of exactly so many items if that is given."""
    bounds = {} if count is None else {"minItems": count, "maxItems": count}
    return {"type": "array", "items": dict(items), **bounds}


def truth_shown(truth: list[str]) -> list[Shown]:
    """Returns the ground truth under labels."""
    return [Shown("Truth" if len(truth) == 1 else f"Truth, picture {number}", digest) for number, digest in enumerate(truth, 1)]


def drawn_shown(submission: Submission) -> Shown:
    """Returns the drawn picture under its label."""
    assert submission.drawn is not None
    return Shown("DRAWN, the picture that is judged", submission.drawn.digest)
