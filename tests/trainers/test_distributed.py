"""Two CPU ranks train like one process: DistributedDataParallel, ZeRO-2, ZeRO-3, with offloading, on two nodes.

Starting ranks is what takes the time, so each start trains several configs and each test checks several things.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import hydra
import pytest
import torch
from omegaconf import OmegaConf
from peft import PeftModel
from PIL import Image
from safetensors.torch import load_file

from agents import checkpoint
from tests.trainers.runs import ROOT, losses, tiny_config, validation_loss, with_
from tests.trainers.sample_rows import chat, write_rows
from tests.trainers.two_ranks import environment, train_in_ranks
from trainers.collate import TrajectoryCollator
from trainers.data import Row, RowFolder, RowWriter, split
from trainers.sft import train

pytestmark = pytest.mark.slow

LORA = {"r": 4, "alpha": 8, "dropout": 0.0, "target_modules": "all-linear"}
TOLERANCE = 1e-4
"""Relative; sums of float32 in another order."""


@pytest.fixture
def config(nano_folder: Path, tmp_path: Path) -> dict[str, Any]:
    """One row a pass: accelerate fills the last pass of an epoch up with rows from its start."""
    write_rows(tmp_path / "rows", 8)
    return with_(tiny_config(nano_folder, tmp_path / "rows"), micro_batch=1)


def one_picture(folder: Path) -> Path:
    """Rows of which a single training row shows a picture, so that its rank's neighbour has none in that pass."""
    with RowWriter(folder) as writer:
        for number in range(8):
            writer.write(Row(f"row-{number}", f"task-{number}", chat(None)))
    shown = split(RowFolder(folder), 0.25)[0][0]
    with RowWriter(folder) as writer:
        digest = writer.images.put(Image.new("RGB", (56, 28), (200, 30, 0)))
        for number in range(8):
            writer.write(Row(f"row-{number}", f"task-{number}", chat(digest if number == shown else None)))
    return folder


def zero(name: str) -> dict[str, Any]:
    """Returns ``deepspeed=NAME`` as the command line composes it."""
    with hydra.initialize_config_dir(version_base="1.3", config_dir=str(ROOT / "conf")):
        return {"config": OmegaConf.to_container(hydra.compose("sft", overrides=[f"deepspeed={name}"]).deepspeed.config)}


def same_losses(run: Path, straight: Path) -> None:
    assert losses(run) == pytest.approx(losses(straight), rel=TOLERANCE)
    assert losses(run, "eval_loss") == pytest.approx(losses(straight, "eval_loss"), rel=TOLERANCE)


def opens_in_one_process(run: Path, rows: Path) -> None:
    """The trainer's own checkpoint and the exported one give the loss that the ranks computed."""
    step, logged = max(losses(run, "eval_loss").items())
    for folder in (run / f"checkpoints/checkpoint-{step}", run / "last"):
        assert validation_loss(folder, rows) == pytest.approx(logged, rel=TOLERANCE)


def adapter_is_whole(run: Path, base: Path, rows: Path) -> None:
    """The adapter has weights, has learnt, and merged into the base it says what the ranks' model said."""
    step, logged = max(losses(run, "eval_loss").items())
    saved = run / f"checkpoints/checkpoint-{step}"
    tensors = load_file(saved / "adapter_model.safetensors")
    assert len(tensors) >= 2 * 7
    assert all(tensor.numel() and torch.isfinite(tensor).all() for tensor in tensors.values())
    # PEFT starts B at zero.
    assert any(float(tensor.norm()) > 0 for name, tensor in tensors.items() if "lora_B" in name)
    assert validation_loss(run / "last", rows) == pytest.approx(logged, rel=TOLERANCE)
    loaded, data = checkpoint.load(base), RowFolder(rows)
    batch = TrajectoryCollator(data, loaded.encoder, {"answer": 1})([{"row": 0, "kept": 100}])
    inputs = {name: value for name, value in batch.items() if name not in ("labels", "weights", "classes")}
    with torch.no_grad():
        plain = loaded.model(**inputs).logits
        merged = checkpoint.load(run / "last").model(**inputs).logits
        adapted = PeftModel.from_pretrained(loaded.model, saved).eval()(**inputs).logits
    torch.testing.assert_close(merged, adapted, atol=1e-4, rtol=1e-4)
    assert (merged - plain).abs().max() > 1e-2


def test_two_ranks_train_like_one(config: dict[str, Any], tmp_path: Path) -> None:
    short = with_(config, max_steps=3)
    train(short, tmp_path / "one")
    train_in_ranks({tmp_path / "two": short}, ACCELERATE_USE_CPU="true")
    same_losses(tmp_path / "two", tmp_path / "one")


@pytest.mark.parametrize("stage", [2, 3])
def test_partitioned_ranks_train_like_one(config: dict[str, Any], tmp_path: Path, stage: int) -> None:
    rows = one_picture(tmp_path / "rows")
    lora = with_(config, peft="lora", lora=LORA, learning_rate=0.05, max_steps=3)
    train(config, tmp_path / "one")
    train(lora, tmp_path / "one-lora")
    # The masked picture counts for nothing: alone, nobody needs it.
    partitioned = zero(f"zero{stage}")
    whole, adapted = ({**with_(c, dummy_image=True), "deepspeed": partitioned} for c in (config, lora))
    resumed = with_(whole, resume=str(tmp_path / "two/checkpoints/checkpoint-3"))
    runs = {tmp_path / "two": whole, tmp_path / "resumed": resumed, tmp_path / "two-lora": adapted}
    if stage == 3:
        offloading = zero("zero3_offload")
        # DeepSpeed's own optimizer for the CPU takes a compiler and half a minute; torch's stays where it is told to as well.
        offloading["config"]["zero_force_ds_cpu_optimizer"] = False
        runs[tmp_path / "offloaded"] = {**whole, "deepspeed": offloading}
    train_in_ranks(runs, DS_ACCELERATOR="cpu", TORCH_EXTENSIONS_DIR=str(tmp_path / "built"))
    assert not (tmp_path / "built").exists(), "DeepSpeed has compiled something, which takes its time and needs a compiler"
    same_losses(tmp_path / "two-lora", tmp_path / "one-lora")
    adapter_is_whole(tmp_path / "two-lora", Path(config["model"]["path"]), rows)
    for run in runs:
        if run.name != "two-lora":
            same_losses(run, tmp_path / "one")
            opens_in_one_process(run, rows)


@pytest.mark.loopback
def test_two_nodes_train_what_was_frozen_once(config: dict[str, Any], tmp_path: Path) -> None:
    short = with_(config, max_steps=2, eval_steps=2)
    train(short, tmp_path / "one")
    run = tmp_path / "run"
    settings = [f"trainer.{name}={value}" for name, value in short["trainer"].items() if isinstance(value, int | float | str)]
    freezing = [sys.executable, "-m", "trainers.sft", "launch.freeze_only=true", f"hydra.run.dir={run}", "logger=none", *settings]
    freezing += [f"model.path={short['model']['path']}", "data=episodes", f"data.path={tmp_path / 'rows'}"]
    freezing += [f"data.validation_share={short['data']['validation_share']}"]
    variables = environment(ACCELERATE_USE_CPU="true")
    frozen = subprocess.run(freezing, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=600)
    assert frozen.returncode == 0, frozen.stderr
    assert f"-m trainers.sft --frozen {run / 'config.yaml'}" in frozen.stdout
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # What docs/cluster.md gives to srun; the address of a node is looked up by its name otherwise.
    line = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc_per_node=1", "--rdzv_backend=c10d"]
    line += [f"--rdzv_endpoint=127.0.0.1:{port}", "--local_addr=127.0.0.1", "--rdzv_id=1"]
    line += ["-m", "trainers.sft", "--frozen", str(run / "config.yaml")]
    nodes = [
        subprocess.Popen(line, cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2)
    ]
    try:
        printed = [node.communicate(timeout=600)[0] for node in nodes]
    finally:
        for node in nodes:
            node.kill()
    assert [node.returncode for node in nodes] == [0, 0], printed
    same_losses(run, tmp_path / "one")
