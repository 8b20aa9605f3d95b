"""Judges from plain values: the settings ``judge.*`` of Hydra and of `wildenv.make_env`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wildenv.errors import ConfigError
from wildenv.judges.base import Judge, Truth
from wildenv.judges.checklist import ChecklistJudge
from wildenv.judges.examine import Provenance
from wildenv.judges.generation import GenerationJudge
from wildenv.judges.kscore import KScoreJudge
from wildenv.judges.oracle import OracleJudge
from wildenv.judges.oracle_generation import OracleGenerationJudge
from wildenv.judges.oracle_sufficiency import OracleSufficiencyJudge
from wildenv.judges.search import SearchJudge
from wildenv.judges.sufficiency import SufficiencyJudge
from wildenv.models.base import Chat
from wildenv.models.chat import ChatModel
from wildenv.models.local import LocalChat
from wildenv.web.store import Store

KINDS = ("oracle", "model", "local")
_CHATS: Mapping[str, Callable[..., Chat]] = {"model": ChatModel.from_config, "local": LocalChat.from_config}


def make_judges(settings: Mapping[str, Any] | str, truth: Truth, oracle: Provenance | None) -> dict[str, Judge]:
    """Makes the judges that the settings name.

    Args:
        settings: ``oracle``, or a mapping with ``kind`` (``oracle``, ``model`` or ``local``). ``model`` takes the arguments of
            `ChatModel` and ``local`` those of `LocalChat` under ``model``; both take ``store``, the file where verdicts are kept
            (null keeps none), and ``checklist_calls`` (``one`` or ``each``).
        truth: Who holds the ground truth.
        oracle: Who knows where pictures come from; None where nobody does.

    Returns:
        ``search``, ``generation``, ``sufficiency`` and, unless it is the oracle, ``kscore`` and ``checklist``.

    Raises:
        ConfigError: Naming the setting that is wrong.
    """
    values = {"kind": settings} if isinstance(settings, str) else dict(settings)
    kind = values.pop("kind", None)
    if kind not in KINDS:
        raise ConfigError(f"judge.kind={kind!r} is not one of {', '.join(KINDS)}")
    if kind == "oracle":
        return _oracles(values, oracle)
    unknown = sorted(set(values) - {"model", "store", "checklist_calls"})
    if unknown:
        raise ConfigError(
            f"judge.{unknown[0]} is no setting; there are judge.kind, judge.model, judge.store, judge.checklist_calls"
        )
    model, path = values.get("model"), values.get("store")
    if not isinstance(model, Mapping):
        raise ConfigError(f"judge.kind={kind} needs judge.model, the settings of the model, not {model!r}")
    chat = _CHATS[kind](model, None if path is None else Store(path), setting="judge.model")
    return {
        "search": SearchJudge(chat, truth),
        "generation": GenerationJudge(chat, truth),
        "kscore": KScoreJudge(chat, truth),
        "sufficiency": SufficiencyJudge(chat, truth),
        "checklist": ChecklistJudge(chat, truth, values.get("checklist_calls", "one")),
    }


def _oracles(values: Mapping[str, Any], oracle: Provenance | None) -> dict[str, Judge]:
    if values:
        raise ConfigError(f"judge.{min(values)} is no setting of judge.kind=oracle; it has none")
    if oracle is None:
        raise ConfigError(
            "judge.kind=oracle knows the pictures of the miniweb only; set judge=model or judge=local for other webs"
        )
    return {
        "search": OracleJudge(oracle),
        "generation": OracleGenerationJudge(oracle),
        "sufficiency": OracleSufficiencyJudge(oracle),
    }
