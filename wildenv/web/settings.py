"""A web client from plain values: the settings ``web.*`` of Hydra, of the command line and of `wildenv.make_env`.

Providers are named: ``serper``, ``searxng`` (search), ``direct``, ``jina``, ``wayback`` (pages), ``direct`` (pictures), what
the caller adds (the miniweb), or the dotted path of a class of your own, ``my.module.MySearch``. Keys of services come from
environment variables; no setting holds one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from wildenv.construct import checked, construct
from wildenv.errors import ConfigError, WildenvError, told
from wildenv.secrets import secret_from_env
from wildenv.web.client import WebClient
from wildenv.web.extract.workers import Extractor
from wildenv.web.net.fetch import Fetcher
from wildenv.web.net.limits import FetchLimits
from wildenv.web.net.manners import Rules
from wildenv.web.packs.hub import pack_from
from wildenv.web.packs.pack import open_recorded
from wildenv.web.providers.base import Parts
from wildenv.web.providers.direct import DirectPages, DirectPictures
from wildenv.web.providers.jina import JinaPages
from wildenv.web.providers.searxng import SearxngProvider
from wildenv.web.providers.serper import SerperProvider
from wildenv.web.providers.wayback import WaybackPages
from wildenv.web.store import Store

Named = str | Mapping[str, Any] | None
"""A provider: its name, or a mapping of ``name`` and arguments."""

_METHODS = {"search": ("text_search", "image_search"), "pages": ("fetch_page",), "pictures": ("fetch_image",)}
"""What a provider must be able to do, by what it is asked for."""


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
        limits: Fields of `wildenv.web.net.fetch.FetchLimits`.
        host_rules: Fields of `wildenv.web.net.manners.Rules` towards each host that pages and pictures come from.
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
        """Reads plain values; raises `ConfigError` for a setting that does not exist or is of a wrong type."""
        given = {name: str(value) if isinstance(value, Path) else value for name, value in values.items() if value is not None}
        settings: WebSettings = construct(cls, "web", given)
        return settings


def make_client(settings: WebSettings, undated: str, builtin: Mapping[str, Callable[[], Any]]) -> WebClient:
    """Makes the client.

    Args:
        settings: The settings.
        undated: What the cutoff does with undated results.
        builtin: Makers of providers that work without a network, by name.

    Raises:
        ConfigError: Naming the setting that is wrong or missing.
    """
    if settings.mode == "live" and settings.store is not None:
        raise ConfigError("web.store is set and web.mode=live keeps nothing; set web.mode=record, or leave web.store out")
    makers = _Makers(settings, builtin)
    names = [_name(one) for one in (settings.search, settings.pages, settings.pictures) if one is not None]
    common: dict[str, Any] = {"undated": undated, "overfetch": settings.overfetch}
    if settings.mode == "replay":
        return WebClient(mode="replay", store=_recorded(settings.store), prefer=names, **common)
    store = None if settings.store is None else Store(settings.store)
    return WebClient(makers.parts(), settings.mode, store, retry_gaps=settings.retry_gaps, **common)


def _recorded(path: str | None) -> Store:
    if path is None:
        raise ConfigError("web.mode=replay needs web.store, the path of a pack or store")
    local = pack_from(path) if path.startswith("hf://") else Path(path)
    if not local.is_file():
        raise ConfigError(f"web.store={path} does not exist; record it first with web.mode=record, or name another pack")
    return open_recorded(local)


class _Makers:
    """Makes the providers that the settings name, each once; pages and pictures share a fetcher.

    Limits and rules are checked even if nobody named needs them.
    """

    def __init__(self, settings: WebSettings, builtin: Mapping[str, Callable[[], Any]]) -> None:
        self._settings = settings
        self._made: dict[str, Any] = {}
        self._builtin = builtin
        self._limits: FetchLimits = construct(FetchLimits, "web.limits", settings.limits)
        self._rules: Rules = construct(Rules, "web.host_rules", settings.host_rules)
        self._reading = checked(Extractor, "web.extractor", settings.extractor)
        self._known: dict[str, dict[str, Callable[[Mapping[str, Any]], Any]]] = {
            "search": {"serper": _serper, "searxng": _searxng},
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
                self._made[name] = construct(self._builtin[name], f"web.{part}", arguments)
            return self._made[name]
        maker = self._known[part].get(name)
        if isinstance(arguments.get("rules"), Mapping) or (maker is not None and "rules" in arguments):
            arguments["rules"] = construct(Rules, f"web.{part}.rules", arguments["rules"])
        if maker is not None:
            return maker(arguments)
        return _own(name, part, arguments, [*self._known[part], *self._builtin])

    @cached_property
    def _fetcher(self) -> Fetcher:
        allow = tuple(self._settings.allow)
        if not self._settings.host_rules:
            return Fetcher(self._limits, allow=allow)
        return Fetcher(self._limits, self._rules, allow)

    @cached_property
    def _extractor(self) -> Extractor:
        return Extractor(**self._reading)

    def _direct_pages(self, given: Mapping[str, Any]) -> DirectPages:
        checked(DirectPages, "web.pages", given, ("fetcher", "extractor"))
        return DirectPages(self._fetcher, self._extractor)

    def _wayback(self, given: Mapping[str, Any]) -> WaybackPages:
        values = checked(WaybackPages, "web.pages", given, ("fetcher", "extractor"))
        return WaybackPages(self._fetcher, self._extractor, **values)

    def _direct_pictures(self, given: Mapping[str, Any]) -> DirectPictures:
        checked(DirectPictures, "web.pictures", given, ("fetcher",))
        return DirectPictures(self._fetcher)


def _serper(given: Mapping[str, Any]) -> SerperProvider:
    values = {"key_env": "SERPER_API_KEY", **checked(SerperProvider, "web.search", given, ("api_key",))}
    return SerperProvider(secret_from_env(values["key_env"], "web.search.key_env"), **values)


def _searxng(given: Mapping[str, Any]) -> SearxngProvider:
    if "authorization" in given:
        raise ConfigError(
            "web.search.authorization would be written to disk with the other settings; name the environment variable that holds "
            "it in web.search.authorization_env"
        )
    named = {**given}
    variable = named.pop("authorization_env", None)
    values = checked(SearxngProvider, "web.search", named, ("authorization",))
    if variable is None:
        return SearxngProvider(**values)
    return SearxngProvider(authorization=secret_from_env(str(variable), "web.search.authorization_env"), **values)


def _jina(given: Mapping[str, Any]) -> JinaPages:
    values = checked(JinaPages, "web.pages", {k: v for k, v in given.items() if v is not None}, ("api_key",))
    key_env = values.get("key_env")
    return JinaPages(None if key_env is None else secret_from_env(key_env, "web.pages.key_env"), **values)


def _own(path: str, part: str, given: Mapping[str, Any], known: Sequence[str]) -> Any:
    """Makes a provider of somebody's own class, and checks that it can be asked."""
    maker = _own_class(path, part, known)
    values = checked(maker, f"web.{part}", given)
    try:
        made = maker(**values)
    except WildenvError:
        raise
    except Exception as error:
        raise ConfigError(f"web.{part}={path} cannot be made: {told(error)}") from error
    lacks = [f"{name}()" for name in _METHODS[part] if not callable(getattr(made, name, None))]
    lacks += [name for name in ("name", "version") if not isinstance(getattr(made, name, None), str)]
    lacks += [] if isinstance(getattr(made, "local", None), bool) else ["local"]
    if lacks:
        raise ConfigError(f"web.{part}={path} lacks {', '.join(lacks)}; see wildenv.web.providers.base for what a provider is")
    return made


def _own_class(path: str, part: str, known: Sequence[str]) -> Callable[..., Any]:
    module, _, name = path.rpartition(".")
    if not module:
        raise ConfigError(f"web.{part}={path!r} is none of {', '.join(known)}, nor the dotted path of a class")
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"web.{part}={path!r} cannot be imported: {error}") from error
    if not callable(found):
        raise ConfigError(f"web.{part}={path!r} is no class")
    return found


def _name(named: str | Mapping[str, Any]) -> str:
    if isinstance(named, str):
        return named
    if not isinstance(named, Mapping) or not isinstance(named.get("name"), str):
        raise ConfigError(f"a provider is a name, or a mapping with a 'name', not {named!r}; see web.search and web.pages")
    return str(named["name"])


def _arguments(named: str | Mapping[str, Any]) -> dict[str, Any]:
    given = {} if isinstance(named, str) else named
    return {name: value for name, value in given.items() if name != "name"}
