"""Configs of tiny SFT runs, and what is read back from their run directories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch
import yaml

from agents import checkpoint
from trainers.collate import TrajectoryCollator
from trainers.data import RowFolder, split
from trainers.objective import attach

ROOT = Path(__file__).resolve().parents[2]
SHARE = 0.25
"""Of the rows that are held out."""


def tiny_config(model: Path, rows: Path) -> dict[str, Any]:
    """Six updates of four rows, an evaluation and a checkpoint after three."""
    trainer = yaml.safe_load((ROOT / "conf/trainer/sft.yaml").read_text(encoding="utf-8"))
    trainer |= {"effective_batch": 4, "micro_batch": 2, "max_steps": 6, "eval_steps": 3, "learning_rate": 3e-3, "max_length": 512}
    trainer |= {"precision": "float32", "gradient_checkpointing": False, "min_turns": 1}
    return {
        "seed": 0,
        "data": {"source": "rows", "path": str(rows), "validation_share": SHARE},
        "model": {"name": "nano", "kind": "nano", "path": str(model), "dtype": "float32", "vision": True}
        | {"pixels": {"max_pixels": 12544, "multiple": 28}},
        "trainer": trainer,
        "deepspeed": {"config": None},
        "logger": {"enabled": False},
        "launch": {"processes": 1, "freeze_only": False},
    }


def with_(config: dict[str, Any], **trainer: Any) -> dict[str, Any]:
    return {**config, "trainer": {**config["trainer"], **trainer}}


def losses(run: Path, name: str = "loss") -> dict[int, float]:
    table = pq.read_table(run / "metrics.parquet").to_pylist()
    return {int(row["step"]): row[name] for row in table if row[name] is not None}


def validation_loss(model: Path, folder: Path) -> float:
    """Computes the evaluation loss anew from what was saved."""
    loaded, rows = checkpoint.load(model), RowFolder(folder)
    attach(loaded.model)
    held = split(rows, SHARE)[1]
    collate = TrajectoryCollator(rows, loaded.encoder, {"reasoning": 1, "tool_call": 1, "answer": 1})
    with torch.no_grad():
        out = loaded.model(**collate([{"row": row, "kept": 100} for row in held]))
    return float(out.loss_sum / out.weight_sum)
