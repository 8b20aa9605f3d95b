from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.openenv.serving import run
from tests.fakes import Script
from wildenv.adapters.openenv.client import WildClient, play_remote
from wildenv.cli.main import main

ROOT = Path(__file__).parents[3]

# A test run in the background of a shell ignores Ctrl-C, and so would what it starts.
COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from wildenv.cli.main import main
sys.exit(main())
"""


@pytest.mark.loopback
def test_the_command_serves_until_it_is_stopped() -> None:
    command = ["serve", "--tasks", "miniweb:validation", "--world", "events=120", "--port", "0", "--max-sessions", "1"]

    async def remote(url: str) -> str:
        async with WildClient(url) as client:
            task_id = (await client.reset(index=0, split="validation")).metadata["task_id"]
            return str((await play_remote(client, Script(), task_id)).metadata["end_reason"])

    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, *command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            found = re.fullmatch(r"miniweb:validation at (http://127\.0\.0\.1:\d+): 1 sessions at once, Ctrl-C ends it\n", said)
            assert found, said
            assert run(remote(found[1])) == "answered"
        finally:
            process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert errors.endswith("wildenv: stopped\n")
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--idle-timeout", "0"], "--idle-timeout 0 must be above 0"),
        (["--max-sessions", "0"], "--max-sessions 0 must be at least 1"),
        (["--port", "-1"], "--port -1 must be at least 0"),
        (["--tasks", "nothing"], "--tasks 'nothing': give 'miniweb:train'"),
        (["--env", "limits.tool_calls=0"], "--env limits.tool_calls=0 must be a whole number of at least 1"),
        (["--env", "show=1"], "--env show=...: there is no such argument"),
    ],
)
def test_options_that_are_wrong_are_named(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", "0", "--world", "events=120", *options]) == 2
    assert said in capsys.readouterr().err
