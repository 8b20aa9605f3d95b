"""The settings web.* of Hydra, the command line and make_env."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wildenv.errors import ConfigError
from wildenv.miniweb.provider import MiniwebProvider
from wildenv.miniweb.world import MiniWorld
from wildenv.web.client import WebClient
from wildenv.web.packs.pack import export_pack
from wildenv.web.providers.base import Parts
from wildenv.web.providers.direct import DirectPages, DirectPictures
from wildenv.web.providers.jina import JinaPages
from wildenv.web.providers.searxng import SearxngProvider
from wildenv.web.providers.serper import SerperProvider
from wildenv.web.providers.wayback import WaybackPages
from wildenv.web.settings import WebSettings, make_client
from wildenv.web.store import Store


class MySearch(MiniwebProvider):
    """A provider of a user's own, found by its dotted path."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.name, self.version = "mine", "1"


def client(world: MiniWorld, undated: str = "keep", **values: Any) -> WebClient:
    return make_client(WebSettings.of(values), undated, {"miniweb": lambda: MiniwebProvider(world)})


def parts(found: WebClient) -> Parts:
    assert isinstance(found.provider, Parts)
    return found.provider


LIVE = {"mode": "live", "search": "miniweb", "pages": "miniweb", "pictures": "miniweb"}


def test_one_provider_of_everything_is_made_once(small_world: MiniWorld) -> None:
    found = client(small_world, **LIVE)
    assert isinstance(found.provider, MiniwebProvider)
    assert found.digest == small_world.digest


def test_a_recording_replays_from_store_and_pack(small_world: MiniWorld, tmp_path: Path) -> None:
    path = str(tmp_path / "web.sqlite")
    recorded = client(small_world, **{**LIVE, "mode": "record", "store": path}).text_search("press picture", 3, None)
    with Store(path) as store:
        export_pack(store, tmp_path / "web.pack")
    for kept in (path, str(tmp_path / "web.pack")):
        assert client(small_world, mode="replay", store=kept).text_search("press picture", 3, None).results == recorded.results
        chosen = client(small_world, mode="replay", store=kept, search={"name": "miniweb"})
        assert chosen.text_search("press picture", 3, None).results == recorded.results


def test_services_are_put_together(small_world: MiniWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERPER_API_KEY", "serper-key-1")
    monkeypatch.setenv("READER_KEY", "jina-key-1")
    search = {"name": "serper", "gl": "de", "rules": {"concurrency": 2}}
    one = parts(client(small_world, mode="live", search=search, pages="wayback", pictures="direct"))
    assert isinstance(one.search, SerperProvider)
    assert isinstance(one.pages, WaybackPages)
    assert isinstance(one.pictures, DirectPictures)
    other = parts(
        client(
            small_world,
            mode="live",
            search={"name": "searxng", "url": "http://127.0.0.1:1"},
            pages={"name": "jina", "key_env": "READER_KEY"},
            pictures="miniweb",
        )
    )
    assert isinstance(other.search, SearxngProvider)
    assert isinstance(other.pages, JinaPages)
    direct = parts(client(small_world, mode="live", search="miniweb", pages="direct", pictures="direct", limits={"total_s": 3}))
    assert isinstance(direct.pages, DirectPages)


def test_what_a_login_needs_comes_from_the_environment(small_world: MiniWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    search = {"name": "searxng", "url": "http://127.0.0.1:1", "authorization_env": "SEARX_LOGIN"}
    values = {"mode": "live", "search": search, "pages": "miniweb", "pictures": "miniweb"}
    monkeypatch.delenv("SEARX_LOGIN", raising=False)
    with pytest.raises(ConfigError, match=r"SEARX_LOGIN is not set.*web\.search\.authorization_env"):
        client(small_world, **values)
    monkeypatch.setenv("SEARX_LOGIN", "Basic c2VhcngK")
    assert parts(client(small_world, **values)).search.name == "searxng"
    plain = {**values, "search": {"name": "searxng", "url": "http://127.0.0.1:1", "authorization": "Basic c2VhcngK"}}
    with pytest.raises(ConfigError, match=r"web\.search\.authorization would be written to disk.*web\.search\.authorization_env"):
        client(small_world, **plain)


@pytest.mark.parametrize(
    ("part", "name", "wrong"),
    [
        *((part, name, {"typo": 1}) for part, name in (("search", "serper"), ("search", "searxng"), ("pages", "jina"))),
        *((part, name, {"typo": 1}) for part, name in (("pages", "wayback"), ("pages", "direct"), ("pictures", "direct"))),
        ("search", "serper", {"quota": "many"}),
        ("search", "serper", {"price": "a"}),
        ("search", "serper", {"gl": 5}),
        ("search", "serper", {"rules": {"attempts": "x"}}),
        ("search", "searxng", {"pages": "all"}),
        ("search", "searxng", {"timeout_s": "soon"}),
        ("search", "searxng", {"engines": "google"}),
        ("pages", "jina", {"price": "a"}),
        ("pages", "jina", {"links": "yes"}),
        ("pages", "wayback", {"timeout_s": "soon"}),
        ("pages", "wayback", {"rules": "slow"}),
    ],
)
def test_a_wrong_argument_of_every_provider_is_named(
    small_world: MiniWorld, monkeypatch: pytest.MonkeyPatch, part: str, name: str, wrong: dict[str, Any]
) -> None:
    monkeypatch.setenv("SERPER_API_KEY", "serper-key-1")
    needed = {"url": "http://127.0.0.1:1"} if name == "searxng" else {}
    setting, value = next(iter(wrong.items()))
    inner = f"{setting}.{next(iter(value))}" if isinstance(value, dict) else setting
    with pytest.raises(ConfigError, match=rf"web\.{part}\.{inner}\b"):
        client(small_world, **{**LIVE, part: {"name": name, **needed, **wrong}})


def test_a_class_of_ones_own_is_found_by_its_path(small_world: MiniWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "my_search", sys.modules[__name__])
    search = {"name": "my_search.MySearch", "seed": 4}
    found = parts(client(small_world, mode="live", search=search, pages="miniweb", pictures="miniweb"))
    assert (found.search.name, found.search.seed) == ("mine", 4)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mode": "live"}, r"web\.mode=live needs web\.search: serper, searxng, miniweb"),
        ({**LIVE, "pages": None}, r"needs web\.pages: direct, jina, wayback, miniweb"),
        ({**LIVE, "search": "goggle"}, r"web\.search='goggle' is none of serper, searxng, miniweb"),
        ({**LIVE, "search": "no.such.Thing"}, r"web\.search='no\.such\.Thing' cannot be imported"),
        ({**LIVE, "search": {"url": "x"}}, r"with a 'name'"),
        ({**LIVE, "search": 5}, r"with a 'name', not 5"),
        ({**LIVE, "search": "serper"}, r"SERPER_API_KEY is not set.*web\.search\.key_env"),
        ({**LIVE, "search": {"name": "searxng"}}, r"web\.search\.url is missing; set it"),
        ({**LIVE, "pages": {"name": "direct", "speed": 3}}, r"web\.pages\.speed is no setting; it has none"),
        ({**LIVE, "limits": {"totl_s": 3}}, r"web\.limits\.totl_s is no setting; there are web\.limits\.page_bytes"),
        ({**LIVE, "limits": 3}, r"web\.limits=3 must be a group of settings"),
        ({**LIVE, "host_rules": {"speed": 3}}, r"web\.host_rules\.speed is no setting; there are web\.host_rules\.conc"),
        ({**LIVE, "host_rules": {"attempts": "many"}}, r"web\.host_rules\.attempts='many' must be a whole number"),
        ({**LIVE, "extractor": {"worker": 3}}, r"web\.extractor\.worker is no setting"),
        ({**LIVE, "overfetch": "many"}, r"web\.overfetch='many' must be a whole number or null"),
        ({**LIVE, "retry_gaps": "yes"}, r"web\.retry_gaps='yes' must be true or false"),
        ({**LIVE, "search": {"name": "miniweb", "gl": "de"}}, r"web\.search\.gl is no setting; it has none"),
        ({**LIVE, "search": {"name": "searxng", "url": 5}}, r"web\.search\.url=5 must be text"),
        ({**LIVE, "search": {"name": "searxng", "url": "http://x", "rules": 5}}, r"web\.search\.rules=5 must be a group"),
        ({**LIVE, "search": "os.path"}, r"web\.search='os\.path' is no class"),
        ({**LIVE, "search": "json.JSONDecoder"}, r"web\.search=json\.JSONDecoder lacks text_search\(\), image_search\(\), name"),
        ({**LIVE, "pages": {"name": "fractions.Fraction", "numerator": "x"}}, r"cannot be made: ValueError: Invalid literal"),
        ({**LIVE, "store": "w.sqlite"}, r"web\.store is set and web\.mode=live keeps nothing; set web\.mode=record"),
        ({"mode": "replay", "store": "w.pack", "limits": {"totl_s": 3}}, r"web\.limits\.totl_s is no setting"),
        ({**LIVE, "mode": "record"}, r"web\.mode=record needs a store; set web\.store"),
        ({"mode": "replay"}, r"web\.mode=replay needs web\.store"),
        ({"mode": "replay", "store": "no/such.pack"}, r"web\.store=no/such\.pack does not exist"),
        ({"mode": "offline", **{k: v for k, v in LIVE.items() if k != "mode"}}, r"web\.mode='offline'"),
        ({"modus": "live"}, r"web\.modus is no setting; there are web\.mode, web\.store"),
    ],
)
def test_wrong_settings_are_named(
    values: dict[str, Any], message: str, small_world: MiniWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SERPER_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=message):
        client(small_world, **values)


def test_the_report_says_what_was_asked_and_had(small_world: MiniWorld, tmp_path: Path) -> None:
    values = {**LIVE, "mode": "record", "store": str(tmp_path / "w.sqlite")}
    found = client(small_world, **values)
    found.text_search("press picture", 3, None)
    found.text_search("press picture", 3, None)
    with pytest.raises(Exception, match="no page"):
        found.fetch_page("https://nowhere.example/x", None)
    assert found.report() == {
        "mode": "record",
        "usage": {
            "text_search": {"calls": 1, "hits": 1, "misses": 1},
            "fetch_page": {"calls": 2, "hits": 0, "misses": 1},
        },
        "failures": {"fetch_page": {"absent": 1}},
        "services": {},
    }
