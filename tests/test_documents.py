"""Every snippet of the README and the contributing guide runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from wildenv.cli.main import make_parser

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("README.md", "CONTRIBUTING.md")
CLUSTER = "docs/cluster.md"
_PLAIN = ("trainers.preflight", "trainers.sweep")
"""Commands that are no Hydra applications, and quick."""


def _blocks(language: str, documents: Sequence[str] = DOCUMENTS) -> list[tuple[str, str]]:
    found = []
    for name in documents:
        text = (ROOT / name).read_text(encoding="utf-8")
        found += [(name, block) for block in re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)]
    return found


def _lines(documents: Sequence[str]) -> list[str]:
    blocks = (block.replace("\\\n", " ") for _, block in _blocks("bash", documents))
    return [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]


def _commands() -> list[str]:
    # Launchers and batch scripts are others' business; what they are to start is composed here.
    started = [line.partition("python -m ")[2] for line in _lines([CLUSTER]) if "$" not in line]
    composed = [f"python -m {line}" for line in started if line]
    return list(dict.fromkeys(line for line in [*_lines(DOCUMENTS), *composed] if line))


@pytest.mark.parametrize("number", range(len(_blocks("python"))))
def test_python_snippets_run(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    name, block = _blocks("python")[number]
    exec(compile(block, f"{name}, snippet {number}", "exec"), {"__name__": "snippet", "__file__": str(ROOT / "snippet.py")})
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("command", _commands())
def test_commands_are_understood(command: str) -> None:
    """Composes what a Hydra command would run, and lets make say what it would do."""
    words = shlex.split(command)
    if words[0] == "make":
        _check_make(words)
    elif words[0] == "wildenv":
        assert callable(make_parser().parse_args(words[1:]).run)
    elif words[0] == "export":
        assert re.fullmatch(r"[A-Z_]+=\.\.\.", words[1]), "a document sets variables to be filled in, and nothing else"
    else:
        _check_python(words, command)


def _check_make(words: list[str]) -> None:
    done = subprocess.run([*words, "-n"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    lines = [shlex.split(line) for line in done.stdout.replace("\\\n", " ").splitlines() if line.strip()]
    hydra = [line for line in lines if line[1:2] == ["-m"] and line[2].startswith(("trainers.", "benchmarks."))]
    assert hydra or words == ["make", "test"]
    for line in hydra:
        _check_python(["python", *line[1:]], shlex.join(line))


def _check_python(words: list[str], command: str) -> None:
    if words[:3] == ["python", "-m", "tests.trainers.rl.rollout_speed"]:
        called = [sys.executable, "-c", f"import {words[2]}"]
    elif words[:2] == ["python", "-m"] and words[2].startswith(("trainers.", "benchmarks.")) and words[2] not in _PLAIN:
        resolve = [] if "--cfg" in words else ["--cfg", "job", "--resolve"]
        called = [sys.executable, *[word for word in words[1:] if word != "--preflight"], *resolve]
    elif words[:2] == ["python", "-m"]:
        called = [sys.executable, *words[1:]]
    else:
        pytest.fail(f"the documents hold a command that no test knows how to run: {command}")
    done = subprocess.run(called, cwd=ROOT, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_tree_in_the_readme_is_the_tree() -> None:
    tree = re.search(r"```text\n(wildenv/.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert tree
    folder = ROOT
    for line in tree.group(1).splitlines():
        entry = line.split()[0]
        if line.startswith(" "):
            assert (folder / entry).exists(), f"{folder.name}/{entry}"
        else:
            folder = ROOT / entry
            assert folder.is_dir(), entry
