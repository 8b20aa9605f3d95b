"""A web client from plain values: the settings ``web.*`` of Hydra, of the command line and of `wildenv.make_env`.

Providers are named: ``serper``, ``searxng`` (search), ``direct``, ``jina``, ``wayback`` (pages), ``direct`` (pictures), what
the caller adds (the miniweb), or the dotted path of a class of your own, ``my.module.MySearch``. Keys of services come from
environment variables; no setting holds one.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from wildenv.errors import ConfigError
from wildenv.secrets import secret_from_env
from wildenv.web.client import WebClient
from wildenv.web.extract.workers import Extractor
from wildenv.web.fetch import Fetcher
from wildenv.web.hub import pack_from
from wildenv.web.limits import FetchLimits
from wildenv.web.manners import Rules
from wildenv.web.pack import open_recorded
from wildenv.web.providers.base import Parts
from wildenv.web.providers.direct import DirectPages, DirectPictures
from wildenv.web.providers.jina import JinaPages
from wildenv.web.providers.searxng import SearxngProvider
from wildenv.web.providers.serper import SerperProvider
from wildenv.web.providers.wayback import WaybackPages
from wildenv.web.store import Store

Named = str | Mapping[str, Any] | None
"""A provider: its name, or a mapping of ``name`` and arguments."""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """The settings of a web.

    Attributes:
        mode: ``live``, ``record``, ``refresh`` or ``replay``.
        store: The file of records: a store, or for ``replay`` also a pack, or ``hf://datasets/OWNER/NAME``.
        search: Who searches. In ``replay`` it only chooses among the records of several.
        pages: Who fetches pages.
        pictures: Who fetches pictures.
        overfetch: Hits asked for per hit wanted; None is 4, and in ``replay`` what the web was recorded with.
        retry_gaps: Whether ``record`` asks again for addresses that earlier runs could not get.
        limits: Fields of `wildenv.web.fetch.FetchLimits`.
        host_rules: Fields of `wildenv.web.manners.Rules` towards each host that pages and pictures come from.
        extractor: Arguments of `wildenv.web.extract.Extractor`: ``workers``, ``seconds``, ``memory_mb``.
        allow: ``HOST:PORT`` of private addresses that may be fetched all the same, for tests.
    """

    mode: str = "replay"
    store: str | None = None
    search: Named = None
    pages: Named = None
    pictures: Named = None
    overfetch: int | None = None
    retry_gaps: bool = False
    limits: Mapping[str, Any] = field(default_factory=dict)
    host_rules: Mapping[str, Any] = field(default_factory=dict)
    extractor: Mapping[str, Any] = field(default_factory=dict)
    allow: Sequence[str] = ()

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> WebSettings:
        """Reads plain values; raises `ConfigError` for a setting that does not exist."""
        known = [one.name for one in fields(cls)]
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise ConfigError(f"web.{unknown[0]} is no setting; there are web.{', web.'.join(known)}")
        return cls(**{name: value for name, value in values.items() if value is not None})


def make_client(settings: WebSettings, undated: str, builtin: Mapping[str, Callable[[], Any]]) -> WebClient:
    """Makes the client.

    Args:
        settings: The settings.
        undated: What the cutoff does with undated results.
        builtin: Makers of providers that work without a network, by name.

    Raises:
        ConfigError: Naming the setting that is wrong or missing.
    """
    names = [_name(one) for one in (settings.search, settings.pages, settings.pictures) if one is not None]
    common: dict[str, Any] = {"undated": undated, "overfetch": settings.overfetch}
    if settings.mode == "replay":
        return WebClient(mode="replay", store=_recorded(settings.store), prefer=names, **common)
    store = None if settings.store is None else Store(settings.store)
    parts = _Makers(settings, builtin).parts()
    return WebClient(parts, settings.mode, store, retry_gaps=settings.retry_gaps, **common)


def _recorded(path: str | None) -> Store:
    if path is None:
        raise ConfigError("web.mode=replay needs web.store, the path of a pack or store")
    local = pack_from(path) if path.startswith("hf://") else Path(path)
    if not local.is_file():
        raise ConfigError(f"web.store={path} does not exist; record it first with web.mode=record, or name another pack")
    return open_recorded(local)


class _Makers:
    """Makes the providers that the settings name, each once; pages and pictures share a fetcher."""

    def __init__(self, settings: WebSettings, builtin: Mapping[str, Callable[[], Any]]) -> None:
        self._settings = settings
        self._made: dict[str, Any] = {}
        self._builtin = builtin
        self._known: dict[str, dict[str, Callable[..., Any]]] = {
            "search": {"serper": self._serper, "searxng": _searxng},
            "pages": {"direct": self._direct_pages, "jina": _jina, "wayback": self._wayback},
            "pictures": {"direct": self._direct_pictures},
        }

    def parts(self) -> Parts | Any:
        """Returns the web: one provider, if it is asked for everything, or its parts."""
        made = [self._make("search"), self._make("pages"), self._make("pictures")]
        return made[0] if made[0] is made[1] is made[2] else Parts(*made)

    def _make(self, part: str) -> Any:
        named: Named = getattr(self._settings, part)
        if named is None:
            known = ", ".join([*self._known[part], *self._builtin])
            raise ConfigError(f"web.mode={self._settings.mode} needs web.{part}: {known}, or the dotted path of a class")
        name, arguments = _name(named), _arguments(named)
        if name in self._builtin:
            if name not in self._made:
                self._made[name] = self._builtin[name](**arguments)
            return self._made[name]
        maker = self._known[part].get(name) or _own_class(name, part, [*self._known[part], *self._builtin])
        if isinstance(arguments.get("rules"), Mapping):
            arguments["rules"] = _checked(Rules, f"web.{part}.rules", arguments["rules"])
        return _checked(maker, f"web.{part}", arguments)

    @cached_property
    def _fetcher(self) -> Fetcher:
        limits = _checked(FetchLimits, "web.limits", self._settings.limits)
        rules = _checked(Rules, "web.host_rules", self._settings.host_rules) if self._settings.host_rules else None
        given = {} if rules is None else {"rules": rules}
        return Fetcher(limits, allow=tuple(self._settings.allow), **given)

    @cached_property
    def _extractor(self) -> Extractor:
        made: Extractor = _checked(Extractor, "web.extractor", self._settings.extractor)
        return made

    def _serper(self, key_env: str = "SERPER_API_KEY", **arguments: Any) -> SerperProvider:
        return SerperProvider(secret_from_env(key_env, "web.search.key_env"), key_env=key_env, **arguments)

    def _direct_pages(self) -> DirectPages:
        return DirectPages(self._fetcher, self._extractor)

    def _wayback(self, **arguments: Any) -> WaybackPages:
        return WaybackPages(self._fetcher, self._extractor, **arguments)

    def _direct_pictures(self) -> DirectPictures:
        return DirectPictures(self._fetcher)


def _searxng(url: str, **arguments: Any) -> SearxngProvider:
    return SearxngProvider(url, **arguments)


def _jina(key_env: str | None = None, **arguments: Any) -> JinaPages:
    if key_env is None:
        return JinaPages(**arguments)
    return JinaPages(secret_from_env(key_env, "web.pages.key_env"), key_env=key_env, **arguments)


def _own_class(path: str, part: str, known: Sequence[str]) -> Callable[..., Any]:
    module, _, name = path.rpartition(".")
    if not module:
        raise ConfigError(f"web.{part}={path!r} is none of {', '.join(known)}, nor the dotted path of a class")
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"web.{part}={path!r} cannot be imported: {error}") from error
    return found


def _name(named: str | Mapping[str, Any]) -> str:
    if isinstance(named, str):
        return named
    if not isinstance(named.get("name"), str):
        raise ConfigError(f"a provider is a name, or a mapping with a 'name', not {dict(named)!r}; see web.search and web.pages")
    return str(named["name"])


def _arguments(named: str | Mapping[str, Any]) -> dict[str, Any]:
    given = {} if isinstance(named, str) else named
    return {name: value for name, value in given.items() if name != "name"}


def _checked(maker: Callable[..., Any], where: str, arguments: Mapping[str, Any]) -> Any:
    """Calls a maker; an argument it does not have is a wrong setting, an error inside it is not."""
    try:
        inspect.signature(maker).bind(**arguments)
    except TypeError as error:
        raise ConfigError(f"{where}: {error}") from error
    return maker(**arguments)
