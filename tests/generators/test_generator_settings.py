from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from wildenv.errors import ConfigError
from wildenv.generators.cached import CachedGenerator
from wildenv.generators.compositor import Compositor
from wildenv.generators.diffusers_local import DiffusersGenerator
from wildenv.generators.openai_images import OpenAIImages
from wildenv.generators.qwen_edit import QwenEdit
from wildenv.generators.settings import make_generator

CONF = Path(__file__).resolve().parents[2] / "conf" / "generator"
FILL = {"openai": {"model": "m"}, "qwen_edit": {"base_url": "http://127.0.0.1:1"}}
KINDS = {"openai": OpenAIImages, "qwen_edit": QwenEdit, "diffusers": DiffusersGenerator, "compositor": Compositor}


def _conf(name: str) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load((CONF / f"{name}.yaml").read_text(encoding="utf-8"))
    return {**values, **FILL.get(name, {})}


@pytest.mark.parametrize("name", sorted(path.stem for path in CONF.glob("*.yaml")))
def test_every_config_makes_its_generator_without_asking_for_anything(name: str) -> None:
    made = make_generator(_conf(name))
    if name == "none":
        assert made is None
    else:
        assert type(made) is KINDS[name]
        assert made.needs_references is (name in ("qwen_edit", "diffusers"))


def test_names_alone() -> None:
    assert isinstance(make_generator("compositor"), Compositor)
    assert make_generator("none") is None
    assert make_generator(None) is None


def test_a_store_keeps_pictures_and_replay_reads_only(tmp_path: Path) -> None:
    path = tmp_path / "drawn.sqlite"
    made = make_generator({"kind": "compositor", "store": str(path)})
    assert isinstance(made, CachedGenerator)
    assert not made.store.read_only
    replay = make_generator({**_conf("openai"), "store": str(path), "replay": True})
    assert isinstance(replay, CachedGenerator)
    assert replay.store.read_only
    assert replay.max_references == 16


def test_a_class_of_one_s_own() -> None:
    assert isinstance(make_generator("wildenv.generators.compositor.Compositor"), Compositor)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ("painter", r"generator\.kind='painter' is none of none, compositor"),
        ("no.such.Painter", r"generator\.kind='no\.such\.Painter' cannot be imported"),
        ({"kind": 3}, r"generator\.kind=3"),
        ({"model": "m"}, r"generator\.kind=None"),
        ({"kind": "compositor", "steps": 3}, r"generator\.kind=compositor: .*steps"),
        ({"kind": "compositor", "replay": True}, r"needs generator\.store"),
        ({"kind": "qwen_edit"}, r"generator\.kind=qwen_edit: .*base_url"),
        ({"kind": "qwen_edit", "base_url": "http://a", "rules": {"haste": 1}}, r"generator\.rules: .*haste"),
        ({"kind": "compositor", "store": "/dev/null/x.sqlite", "replay": True}, "does not exist"),
    ],
)
def test_wrong_settings_are_named(settings: Any, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        make_generator(settings)
