"""A generator from plain values: the settings ``generator.*`` of Hydra and of `wildenv.make_env`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from wildenv.errors import ConfigError
from wildenv.generators.base import Generator
from wildenv.generators.cached import CachedGenerator
from wildenv.generators.compositor import Compositor
from wildenv.generators.diffusers_local import DiffusersGenerator
from wildenv.generators.openai_images import OpenAIImages
from wildenv.generators.qwen_edit import QwenEdit
from wildenv.web.net.manners import Rules
from wildenv.web.store import Store

NONE = "none"
_KINDS: Mapping[str, Callable[..., Generator]] = {
    "compositor": Compositor,
    "openai": OpenAIImages,
    "qwen_edit": QwenEdit,
    "diffusers": DiffusersGenerator,
}


def make_generator(settings: str | Mapping[str, Any] | None) -> Generator | None:
    """Makes the generator that the settings name.

    Args:
        settings: None or ``"none"``; ``"compositor"``; or a mapping of ``kind`` (one of these, ``openai``, ``qwen_edit``,
            ``diffusers``, or the dotted path of a class of your own), the arguments of its class, ``rules`` as the fields of
            `wildenv.web.net.manners.Rules`, ``store``, a file where pictures are kept (null keeps none), and ``replay``, true to
            draw nothing that is not kept there.

    Raises:
        ConfigError: Naming the setting that is wrong.
    """
    values: dict[str, Any] = {"kind": settings} if isinstance(settings, str) else dict(settings or {"kind": NONE})
    kind, store, replay = values.pop("kind", None), values.pop("store", None), values.pop("replay", False)
    if kind == NONE:
        return None
    if not isinstance(kind, str):
        raise ConfigError(f"generator.kind={kind!r}: give {NONE}, {', '.join(_KINDS)} or the dotted path of a class")
    if replay and store is None:
        raise ConfigError("generator.replay=true needs generator.store, the file where pictures are kept")
    if isinstance(values.get("rules"), Mapping):
        values["rules"] = _called(Rules, values["rules"], "generator.rules")
    generator: Generator = _called(_KINDS.get(kind) or _own(kind), values, f"generator.kind={kind}")
    if store is None:
        return generator
    return CachedGenerator(generator, Store(Path(store), read_only=bool(replay)))


def _own(path: str) -> Callable[..., Generator]:
    module, _, name = path.rpartition(".")
    if not module:
        raise ConfigError(f"generator.kind={path!r} is none of {NONE}, {', '.join(_KINDS)}, nor the dotted path of a class")
    try:
        found: Callable[..., Generator] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"generator.kind={path!r} cannot be imported: {error}") from error
    return found


def _called(maker: Callable[..., Any], arguments: Mapping[str, Any], where: str) -> Any:
    """Calls a maker; an argument it does not have is a wrong setting, an error inside it is not."""
    try:
        inspect.signature(maker).bind(**arguments)
    except TypeError as error:
        raise ConfigError(f"{where}: {error}") from error
    return maker(**arguments)
