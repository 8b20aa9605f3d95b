"""A reward of several components, combined by weights; the dual reward (1-α)·image + α·text is one of them (Gen-Searcher)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wildenv.errors import ConfigError, InfrastructureError
from wildenv.generators.base import Generator
from wildenv.judges.base import Drawn, Submission, Verdict
from wildenv.rewards.base import RewardReport
from wildenv.rewards.component import Component, ComponentScore
from wildenv.task import Task


class CombinedReward:
    """Draws if a component needs a picture, scores all components at once, and adds them up.

    A component that is unscored abstains: the report says so, and if it carries weight the reward is not valid. A component that
    is a bonus earns its weight in proportion to what the others earn.

    The reward of an episode without an answer, and of an answer without references, is 0 and valid. Its components are what they
    are: an answer without references is drawn if the generator can, and judged. What cannot be judged for want of an answer or of
    a picture is 0 by rule, and a verdict with ``drawn: false`` in its evidence says that nobody looked; bonuses are unscored
    without an answer, since they are told only of answers what was spent.

    Args:
        components: What is scored; names, those of parts included, must differ.
        weights: By component name, 0 or more, adding up to 1; a component without a weight is scored and reported only.
        generator: Draws; needed if a component needs a picture.
        seed: Of the generator.

    Raises:
        ConfigError: Naming the setting that is wrong.
    """

    def __init__(
        self,
        components: Sequence[Component],
        weights: Mapping[str, float],
        generator: Generator | None = None,
        seed: int = 0,
    ) -> None:
        names = [component.name for component in components]
        every = [name for component in components for name in (component.name, *component.parts)]
        if len(set(every)) != len(every) or not every:
            raise ConfigError(f"reward.components={names}: name one or more, each once")
        unknown = sorted(set(weights) - set(names))
        if unknown:
            raise ConfigError(f"reward.weights.{unknown[0]} is no component; there are {', '.join(names)}")
        if any(not (isinstance(w, int | float) and 0 <= w <= 1) for w in weights.values()) or not math.isclose(
            sum(weights.values()), 1.0, abs_tol=1e-6
        ):
            raise ConfigError(f"reward.weights={dict(weights)} must be numbers from 0 to 1 that add up to 1")
        if generator is not None and not isinstance(generator, Generator):
            raise ConfigError(
                f"reward.generator: {type(generator).__name__} lacks id, needs_references or generate; see "
                f"wildenv.generators.base.Generator"
            )
        self.components = list(components)
        self.weights = dict(weights)
        self.generator = generator
        self.seed = seed
        self._bonus = {component.name for component in components if component.bonus}
        if not any(weight for name, weight in weights.items() if name not in self._bonus):
            raise ConfigError(f"reward.weights={dict(weights)} must weigh a component that judges the answer, not only bonuses")
        if generator is None and any(component.needs_picture for component in components):
            needing = [component.name for component in components if component.needs_picture]
            raise ConfigError(
                f"reward.components {', '.join(needing)} judge a picture; set reward.generator, for example generator=compositor"
            )

    def __deepcopy__(self, memo: dict[int, Any]) -> CombinedReward:
        # Gymnasium copies the arguments an environment was made with; models behind judges and generators are shared.
        return self

    async def score(self, task: Task, submission: Submission | None) -> RewardReport:
        """Returns the report; see the class."""
        if submission is None:
            return self._unanswered()
        given: tuple[Verdict, ...] = ()
        undrawn: float | None = None
        if any(component.needs_picture for component in self.components):
            assert self.generator is not None
            if self.generator.needs_references and not submission.references:
                given, undrawn = (_unjudged(self.generator.id, "no references: nothing to draw from"),), 0.0
            else:
                try:
                    submission = replace(submission, drawn=await self._draw(self.generator, submission))
                except InfrastructureError as error:
                    given = (Verdict(self.generator.id, None, f"unscored: {error}"),)
        scores = await asyncio.gather(*(self._one(component, task, submission, undrawn) for component in self.components))
        values: dict[str, float | None] = {}
        earned: dict[str, float | None] = {}
        for component, score in zip(self.components, scores, strict=True):
            values[component.name] = score.value
            earned[component.name] = score.value if score.earned is None else score.earned
            values |= {name: score.parts.get(name) for name in component.parts}
        verdicts = (*given, *(verdict for score in scores for verdict in score.verdicts))
        if not submission.references:
            earned = dict.fromkeys(earned, 0.0)
        total = self._total(earned)
        return RewardReport(total or 0.0, total is not None, values, verdicts, submission.drawn, earned)

    def _unanswered(self) -> RewardReport:
        values = {
            name: None if component.bonus else 0.0 for component in self.components for name in (component.name, *component.parts)
        }
        earned = {component.name: 0.0 for component in self.components}
        return RewardReport(0.0, True, values, (_unjudged("reward", "no answer"),), earned=earned)

    def _total(self, earned: Mapping[str, float | None]) -> float | None:
        """Returns the weighted sum, or None if something that carries weight is unscored."""
        parts = [(name, weight, earned[name]) for name, weight in self.weights.items() if weight]
        scored = [(name, weight, value) for name, weight, value in parts if value is not None]
        if len(scored) < len(parts):
            return None
        judged = sum(weight * value for name, weight, value in scored if name not in self._bonus)
        share = judged / sum(weight for name, weight, _ in scored if name not in self._bonus)
        return judged + share * sum(weight * value for name, weight, value in scored if name in self._bonus)

    async def _draw(self, generator: Generator, submission: Submission) -> Drawn:
        pictures = [submission.store.get(reference.digest) for reference in submission.references]
        image = await generator.generate(submission.prompt, pictures, self.seed)
        return Drawn(submission.store.put(image), generator.id, self.seed)

    async def _one(self, component: Component, task: Task, submission: Submission, undrawn: float | None) -> ComponentScore:
        """Returns a component's score, `undrawn` if it needs a picture and there is none."""
        if component.needs_picture and submission.drawn is None:
            return ComponentScore(undrawn, parts=dict.fromkeys(component.parts, undrawn))
        return await component.score(task, submission)


def _unjudged(giver: str, reason: str) -> Verdict:
    """Returns the verdict that goes with zeros by rule."""
    return Verdict(giver, 0.0, reason, {"drawn": False})


def dual(alpha: float, image: str, text: str = "sufficiency") -> dict[str, float]:
    """Returns the weights of the dual reward ``(1 - alpha) * image + alpha * text``.

    Args:
        alpha: Weight of the text component, 0..1; Gen-Searcher trains with 0.5.
        image: Name of the component that judges the drawn picture, ``"generation"`` or ``"kscore"``.
        text: Name of the component that judges what the generator is given.

    Raises:
        ConfigError: If `alpha` is out of range.
    """
    if not 0 <= alpha <= 1:
        raise ConfigError(f"reward.alpha={alpha} must be from 0 to 1: the weight of '{text}' beside '{image}'")
    return {image: 1 - alpha, text: alpha}
