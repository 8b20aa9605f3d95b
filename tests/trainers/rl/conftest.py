"""A tiny model that searches, crops as a coin falls, and answers: what the tests of GRPO start from."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from filelock import FileLock

from tests.trainers.rl.coin import Coin
from tests.trainers.rl.settings import PIXELS, ROOT, WORLD, env_settings
from tests.trainers.runs import tiny_config, with_
from trainers.data import Row, RowFolder, RowWriter
from trainers.model import corpus
from trainers.nano import build_nano
from trainers.sft import train
from wildenv.episode import LatestEpisodes
from wildenv.images import ImageStore
from wildenv.registration import make_env, make_tasks
from wildenv.rollout import rollout


@pytest.fixture(scope="session")
def coin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained once, whichever worker of the test run comes first."""
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "coin"
    home.mkdir(exist_ok=True)
    with FileLock(home / "lock"):
        if not (home / "done").exists():
            train_coin(home)
            (home / "done").touch()
    return home / "run" / "last"


def train_coin(folder: Path) -> None:
    tasks = make_tasks("miniweb:train", WORLD)
    ids = [tasks[index].id for index in range(len(tasks))]
    with RowWriter(folder / "rows") as writer:
        # Each task by several coins: a model that knew the coin of a task would have nothing left to choose.
        for seed in range(4):
            played = folder / f"episodes-{seed}"
            asyncio.run(rollout(partial(make_env, **env_settings(), tasks=tasks), Coin, ids, played, seed=seed, progress=False))
            pictures = ImageStore(played / "images")
            for episode in LatestEpisodes(played):
                for image in episode.images:
                    writer.images.put_png(pictures.png(image["digest"]))
                writer.write(Row.from_episode(episode))
    rows = RowFolder(folder / "rows")
    config: dict[str, Any] = yaml.safe_load((ROOT / "conf/model/nano.yaml").read_text(encoding="utf-8"))
    config["tokenizer"] = {"vocab_size": 800, "images": 10, "min_share": 0.05}
    config["pixels"] = PIXELS
    config["text"] |= {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 2}
    config["text"] |= {"num_key_value_heads": 2, "mrope_section": [4, 6, 6]}
    config["vision_tower"] |= {"depth": 1, "embed_dim": 32, "num_heads": 2}
    model = build_nano(config, corpus(rows), 0, folder / "model")
    settings = with_(tiny_config(model, folder / "rows"), max_steps=600, eval_steps=600, log_steps=50, learning_rate=3e-3)
    settings["model"]["pixels"] = PIXELS
    train(settings, folder / "run")
