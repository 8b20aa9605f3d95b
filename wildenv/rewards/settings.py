"""A reward from plain values: the settings ``reward.*`` of Hydra and of `wildenv.make_env`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from wildenv.budget import Limits
from wildenv.errors import ConfigError
from wildenv.generators.settings import make_generator
from wildenv.judges.base import Judge, Truth
from wildenv.judges.checklist import STRICT
from wildenv.judges.examine import Provenance
from wildenv.judges.kscore import WEIGHTS
from wildenv.judges.settings import make_judges
from wildenv.rewards import cost, format, generation
from wildenv.rewards.combined import CombinedReward, dual
from wildenv.rewards.component import Component
from wildenv.rewards.cost import CostComponent
from wildenv.rewards.format import FormatComponent
from wildenv.rewards.generation import GenerationComponent
from wildenv.rewards.judged import Judged
from wildenv.rewards.search import COMPONENT as SEARCH

KSCORE = "kscore"
SUFFICIENCY = "sufficiency"
CHECKLIST = "checklist"
IMAGE = (generation.COMPONENT, KSCORE)
"""Components that judge a drawn picture, as the image side of the dual reward."""
COMPONENTS = (SEARCH, *IMAGE, SUFFICIENCY, CHECKLIST, format.COMPONENT, cost.COMPONENT)


@dataclass(frozen=True, slots=True)
class RewardSettings:
    """The settings of a reward.

    Attributes:
        components: What is scored, of `COMPONENTS`. ``kscore`` reports its four grades beside it, ``checklist`` whether all items
            of the task's rubric hold, as ``checklist_strict``.
        weights: By component; None gives the only component all of it.
        alpha: The dual reward instead of `weights`: alpha for ``sufficiency``, the rest for ``generation`` or ``kscore``,
            whichever is listed.
        w: Weight of the identity in the generation score.
        gate: Whether the context earns nothing where the identity is 0; what is reported is not changed by it.
        judge: ``"oracle"``, or a mapping; see `wildenv.judges.settings.make_judges`.
        generator: A name, a mapping or None; see `wildenv.generators.settings.make_generator`.
        seed: Of the generator.
    """

    components: Sequence[str] = (SEARCH,)
    weights: Mapping[str, float] | None = None
    alpha: float | None = None
    w: float = 0.8
    gate: bool = True
    judge: str | Mapping[str, Any] = "oracle"
    generator: str | Mapping[str, Any] | None = None
    seed: int = 0

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> RewardSettings:
        """Reads plain values; raises `ConfigError` for a setting that does not exist, or a component."""
        known = [one.name for one in fields(cls)]
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise ConfigError(f"reward.{unknown[0]} is no setting; there are reward.{', reward.'.join(known)}")
        settings = cls(**values)
        strange = [name for name in settings.components if name not in COMPONENTS]
        if isinstance(settings.components, str) or strange or not settings.components:
            raise ConfigError(f"reward.components={settings.components!r}: give a list of {', '.join(COMPONENTS)}")
        return settings

    @property
    def judge_kind(self) -> str:
        """What kind of judge is asked."""
        return str(self.judge if isinstance(self.judge, str) else self.judge.get("kind"))

    def weighed(self) -> dict[str, float]:
        """Returns the weights.

        Raises:
            ConfigError: If neither or both of `weights` and `alpha` are given, or `alpha` lacks a component.
        """
        if self.weights is not None and self.alpha is not None:
            raise ConfigError("reward.weights and reward.alpha exclude each other; set one of them to null")
        if self.weights is not None:
            return dict(self.weights)
        if self.alpha is not None:
            image = [name for name in self.components if name in IMAGE]
            if len(image) != 1 or SUFFICIENCY not in self.components:
                raise ConfigError(
                    f"reward.alpha={self.alpha} needs '{SUFFICIENCY}' and one of {' and '.join(map(repr, IMAGE))} in "
                    f"reward.components; give reward.weights for other mixtures"
                )
            return dual(self.alpha, image[0], SUFFICIENCY)
        if len(self.components) > 1:
            raise ConfigError(f"reward.components={list(self.components)} needs reward.weights, or reward.alpha")
        return {self.components[0]: 1.0}


def make_reward(settings: RewardSettings, truth: Truth, oracle: Provenance | None, limits: Limits) -> CombinedReward:
    """Makes the reward.

    Args:
        settings: The settings.
        truth: Who holds the ground truth of the tasks.
        oracle: Who knows where pictures come from; None where nobody does.
        limits: Of the episodes.

    Raises:
        ConfigError: Naming the setting that is wrong.
    """
    judges = make_judges(settings.judge, truth, oracle)

    def judge(name: str) -> Judge:
        if name not in judges:
            raise ConfigError(
                f"reward.components has '{name}', which judge={settings.judge_kind} does not judge; set judge=model"
            )
        return judges[name]

    makers: Mapping[str, Callable[[], Component]] = {
        SEARCH: lambda: Judged(SEARCH, judge(SEARCH), needs_references=True),
        generation.COMPONENT: lambda: GenerationComponent(judge(generation.COMPONENT), settings.w, settings.gate),
        KSCORE: lambda: Judged(KSCORE, judge(KSCORE), needs_picture=True, parts={name: name for name in WEIGHTS}),
        SUFFICIENCY: lambda: Judged(SUFFICIENCY, judge(SUFFICIENCY), needs_references=True),
        CHECKLIST: lambda: Judged(CHECKLIST, judge(CHECKLIST), needs_picture=True, parts={f"{CHECKLIST}_{STRICT}": STRICT}),
        format.COMPONENT: FormatComponent,
        cost.COMPONENT: lambda: CostComponent(limits.tool_calls),
    }
    components = [makers[name]() for name in settings.components]
    # A generator that nothing asks for is not made: it may load a model, or want a key.
    drawing = any(component.needs_picture for component in components)
    generator = make_generator(settings.generator) if drawing else None
    most = getattr(generator, "max_references", None)
    if most is not None and most < limits.references:
        raise ConfigError(
            f"an answer may have {limits.references} references and the generator takes {most}; set "
            f"env.limits.references={most}, or generator.max_references if the model behind it takes more"
        )
    return CombinedReward(components, settings.weighed(), generator, settings.seed)
