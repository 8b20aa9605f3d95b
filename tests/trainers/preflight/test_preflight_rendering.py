"""What templates can do is found out by rendering with them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from trainers.checks import families
from trainers.checks.rendering import inspect

NANO = (Path(__file__).resolve().parents[3] / "conf/model/nano.jinja").read_text(encoding="utf-8")


def test_qwen3_vl_passes_and_qwen2_5_vl_renders_no_tool_calls() -> None:
    passing, refused = inspect(families.template("qwen3_vl")), inspect(families.template("qwen2_5_vl"))
    assert passing.complaint == ""
    assert (passing.calls, passing.replies, passing.pictures, passing.prefix, passing.readable) == (True,) * 5
    assert refused.complaint == "renders no tool calls"
    assert refused.pictures


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("smolvlm", "renders no tool calls"),
        ("idefics3", "renders no tool calls"),
        ("gemma3", "roles must alternate"),
        ("gemma4", "renders no pictures in tool messages"),
        ("qwen3", "no prefix"),
        ("qwen3_5_think", "form that the rollout does not read"),
        ("qwen3_6", "form that the rollout does not read"),
    ],
)
def test_other_families_are_told_what_they_lack(name: str, complaint: str) -> None:
    assert complaint in inspect(families.template(name)).complaint


def test_a_text_template_has_no_pictures_to_lose() -> None:
    found = inspect(families.template("qwen3_instruct_2507"))
    assert found.pictures is None
    assert found.complaint == ""


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("message.tool_calls or []", "[]", "renders no tool calls"),
        ("{%- if block.type == 'image' -%}", "{%- if block.type == 'image' and messages | length == 1 -%}", "no pictures"),
        (
            "'<|im_start|>assistant\\n' if add_generation_prompt",
            "'<|im_start|>assistant:\\n' if add_generation_prompt",
            "no prefix",
        ),
    ],
)
def test_a_broken_template_is_found_out(old: str, new: str, complaint: str) -> None:
    assert inspect(NANO).complaint == ""
    assert old in NANO
    assert complaint in inspect(NANO.replace(old, new)).complaint


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ("Qwen/Qwen3-VL-8B-Instruct", "qwen3_vl"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen2_5_vl"),
        ("Qwen/Qwen2-VL-2B-Instruct", "qwen2_5_vl"),
        ("Qwen/Qwen3-8B", "qwen3"),
        ("Qwen/Qwen3-4B-Instruct-2507", "qwen3_instruct_2507"),
        ("Qwen/Qwen3.6-27B", "qwen3_6"),
        ("google/gemma-3-4b-it", "gemma3"),
        ("google/gemma-4-E2B-it", "gemma4_v5"),
        ("HuggingFaceTB/SmolVLM-256M-Instruct", "smolvlm"),
        ("somebody/else", None),
    ],
)
def test_a_name_tells_the_family(path: str, family: str | None) -> None:
    assert families.family(path) == family


def test_the_table_has_every_family() -> None:
    written = io.StringIO()
    families.show(Console(width=200, file=written))
    text = written.getvalue()
    assert all(name in text for name in families.names())
    assert "qwen3_vl_training" not in text
