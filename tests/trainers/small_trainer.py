"""A trainer that imports nothing heavy and, by its config, fails, waits or is killed in one rank."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from trainers.launch import enter
from wildenv.errors import ConfigError


def train(config: dict[str, Any], folder: Path) -> None:
    rank = int(os.environ["RANK"])
    (folder / f"rank{rank}.pid").write_text(str(os.getpid()), encoding="utf-8")
    if rank == config["rank"]:
        # The others are to be seen ending, so they must have begun.
        while len(list(folder.glob("rank*.pid"))) < int(os.environ["WORLD_SIZE"]):
            time.sleep(0.05)
        match config["does"]:
            case "refuse":
                raise ConfigError("trainer.learning_rate is for the birds")
            case "crash":
                raise ZeroDivisionError("a rank divided by nothing")
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                os._exit(7)
    time.sleep(120)


def main() -> None:
    raise AssertionError("ranks are started with --frozen")


if __name__ == "__main__":
    enter(main, train)
