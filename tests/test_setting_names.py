"""Every setting that a message or a docstring names can be set: it stands in ``conf`` with its default."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from wildenv.budget import Limits
from wildenv.miniweb.config import WorldConfig
from wildenv.models.chat import ChatModel
from wildenv.models.page_reader import PageReader
from wildenv.web.net.limits import FetchLimits
from wildenv.web.net.manners import Rules
from wildenv.web.providers.serper import SerperProvider
from wildenv.web.settings import WebSettings

ROOT = Path(__file__).resolve().parents[1]

_NAME = re.compile(r"(?<![\w./])(?:web|env)(?:\.[a-z_]+)+(?![\w(])")
_FILES = {"web.sqlite", "web.pack", "web.jsonl"}
_REFUSED = {"web.search.authorization"}
_METHODS = {"env.step", "env.reset", "env.fail", "env.episode", "env.close"}

CHOICES = (
    ["web=miniweb"],
    ["web=replay", "web.store=x"],
    *([f"web={search}", "web.store=x", "web.search.url=http://127.0.0.1:1"] for search in ("serper", "searxng")),
    *(["web=serper", "web.store=x", f"web/pages={pages}"] for pages in ("wayback", "direct", "jina")),
)


@pytest.fixture(scope="module")
def settings() -> set[str]:
    """All settings of all webs, groups among them."""
    found: set[str] = set()
    with initialize_config_dir(str(ROOT / "conf"), version_base=None):
        for choice in CHOICES:
            config = compose("evaluate", overrides=choice)
            for group in ("web", "env"):
                found |= set(_named(group, OmegaConf.to_container(config[group], resolve=False)))
    reader = {*inspect.signature(ChatModel).parameters, *inspect.signature(PageReader).parameters}
    return found | {f"env.reader.{name}" for name in reader}


def _named(name: str, value: Any) -> Iterator[str]:
    yield name
    if isinstance(value, dict):
        for inner, one in value.items():
            yield from _named(f"{name}.{inner}", one)


def _written() -> dict[str, str]:
    """Setting names in string literals, with a file of each."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "wildenv").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {match[0]: path.name for match in _NAME.finditer(node.value)}
    return found


def test_named_settings_are_there(settings: set[str]) -> None:
    written = {name: file for name, file in _written().items() if name not in _FILES | _METHODS | _REFUSED}
    assert len(written) > 25, "the scan finds names"
    unknown = {name: file for name, file in written.items() if name not in settings}
    assert not unknown


def test_groups_are_complete_and_hold_the_defaults_of_the_code() -> None:
    with initialize_config_dir(str(ROOT / "conf"), version_base=None):
        config: Any = OmegaConf.to_container(compose("evaluate", overrides=["web=serper", "web.store=x"]), resolve=True)
    assert config["env"]["limits"] == asdict(Limits())
    assert config["env"]["world"] == WorldConfig().to_dict()
    assert config["web"]["limits"] == asdict(FetchLimits())
    assert set(config["web"]) == {field.name for field in fields(WebSettings)}
    assert set(config["web"]["host_rules"]) == {field.name for field in fields(Rules)}
    assert set(config["web"]["search"]) - {"name"} == set(inspect.signature(SerperProvider).parameters) - {"api_key"}


@pytest.mark.parametrize(
    "override",
    [
        *(["web=serper", f"web.{one}"] for one in ("allow=['127.0.0.1:80']", "search.timeout_s=3", "pages.rules.attempts=2")),
        *(
            ["web=searxng", "web.search.url=http://x", f"web.search.{one}"]
            for one in ("language=de", "engines=[bing]", "pages=2")
        ),
        *(["web=searxng", "web.search.url=http://x", f"web.search.{one}"] for one in ("safesearch=0", "authorization_env=X")),
        *(["web=serper", "web/pages=jina", f"web.pages.{one}"] for one in ("price=3", "key_env=JINA_API_KEY", "links=false")),
        ["web=serper", "web.pages=direct"],
        ["web=miniweb", "web.limits.total_s=3", "env.world.events=120", "env.world.start='2026-01-02'"],
        ["web=miniweb", "env.reader={model: m, base_url: 'http://127.0.0.1:1/v1', max_chars: 3000}"],
    ],
)
def test_settings_are_set_without_a_plus_sign(override: list[str]) -> None:
    with initialize_config_dir(str(ROOT / "conf"), version_base=None):
        config = compose("evaluate", overrides=[*override, *(["web.store=x"] if "web=miniweb" not in override else [])])
    assert OmegaConf.to_container(config.env, resolve=True)
