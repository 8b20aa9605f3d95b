"""Pairs of settings that hang, save nothing, or lose updates."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import torch

from tests.trainers.preflight.conftest import Check
from trainers.checks import distribution
from trainers.checks.finding import Status


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with eight GPUs and vLLM."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(distribution, "find_spec", lambda name: object())
    monkeypatch.delenv("ACCELERATE_USE_CPU", raising=False)
    monkeypatch.delenv("DS_ACCELERATOR", raising=False)


@contextmanager
def server(status: int) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{made.server_port}"
        made.shutdown()
        thread.join()


def test_one_process_needs_nothing_of_this(check: Check) -> None:
    for name in ("DeepSpeed", "dummy picture", "slowest rank", "size of updates"):
        assert check(name).status is Status.NOT_APPLICABLE
    for name in ("generation", "devices"):
        assert check(name).status is Status.PASSED


def test_the_cluster_passes_on_a_machine_that_has_it(check: Check, gpus: None) -> None:
    for name in ("DeepSpeed", "generation", "dummy picture", "devices", "size of updates", "slowest rank"):
        assert check(name, "experiment=gen_searcher", "scale=cluster_grpo").status is Status.PASSED


def test_zero3_must_gather_what_it_saves(check: Check, gpus: None) -> None:
    assert check("DeepSpeed", "deepspeed=zero3").status is Status.PASSED
    setting = "deepspeed.config.zero_optimization.stage3_gather_16bit_weights_on_model_save"
    found = check("DeepSpeed", "deepspeed=zero3", f"{setting}=false")
    assert found.status is Status.REFUSED
    assert setting in found.reason


def test_deepspeed_must_be_installed(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "find_spec", lambda name: None)
    found = check("DeepSpeed", "deepspeed=zero2")
    assert found.status is Status.REFUSED
    assert "deepspeed=none" in found.reason


@pytest.mark.parametrize("group", ["rollout", "trainer"])
def test_generation_under_zero3_gathers(check: Check, group: str) -> None:
    assert "gathered once" in check("generation", "deepspeed=zero3").reason
    off = f"+{group}.ds3_gather_for_generation=false"
    found = check("generation", "deepspeed=zero3", off)
    assert found.status is Status.REFUSED
    assert f"{group}.ds3_gather_for_generation" in found.reason
    assert check("generation", "deepspeed=zero2", off).status is Status.PASSED


def test_an_unknown_backend_is_refused(check: Check) -> None:
    assert "rollout.backend='guess'" in check("generation", "rollout.backend=guess").reason


def test_vllm_must_be_there_with_a_gpu(check: Check, gpus: None, monkeypatch: pytest.MonkeyPatch) -> None:
    colocate = ("rollout=vllm_colocate", "scale=none", "deepspeed=zero3", "launch.processes=8")
    assert check("generation", *colocate).status is Status.PASSED
    found = check("generation", *colocate, "rollout.tensor_parallel_size=3")
    assert "rollout.tensor_parallel_size=3 does not divide the 8 ranks" in found.reason
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "needs a GPU" in check("generation", *colocate).reason
    monkeypatch.setattr(distribution, "find_spec", lambda name: None)
    assert "pip install vllm" in check("generation", *colocate).reason
    assert check("generation", *colocate, "launch.freeze_only=true").status is Status.NOT_CHECKED


@pytest.mark.loopback
def test_a_vllm_server_is_asked(check: Check, gpus: None) -> None:
    with server(200) as url:
        assert check("generation", "rollout=vllm_server", "scale=none", f"rollout.url={url}").status is Status.PASSED
    found = check("generation", "rollout=vllm_server", "scale=none", f"rollout.url={url}")
    assert found.status is Status.REFUSED
    assert "rollout.url" in found.reason
    with server(404) as url:
        assert (
            "no server of trl vllm-serve" in check("generation", "rollout=vllm_server", "scale=none", f"rollout.url={url}").reason
        )


def test_a_rank_without_pictures(check: Check) -> None:
    ranks = ("launch.processes=2", "trainer.dummy_image=false")
    for stage in ("zero2", "zero3"):
        found = check("dummy picture", f"deepspeed={stage}", *ranks)
        assert found.status is Status.REFUSED
        assert "set trainer.dummy_image=true" in found.reason
    assert check("dummy picture", "deepspeed=none", *ranks).status is Status.WARNING
    assert check("dummy picture", "deepspeed=zero3", "launch.processes=2", "trainer.dummy_image=true").status is Status.PASSED
    text = check("dummy picture", "scale=none", "model.path=Qwen/Qwen3-8B", "model.vision=false", "trainer.dummy_image=true")
    assert "trainer.dummy_image=true needs a model that sees" in text.reason


def test_every_rank_has_a_device_and_one_only(check: Check, gpus: None) -> None:
    found = check("devices")
    assert found.status is Status.REFUSED
    assert "launch.processes=8" in found.reason
    assert check("devices", "launch.processes=8").status is Status.PASSED
    assert "launch.processes=9" in check("devices", "launch.processes=9").reason
    assert check("devices", "launch.freeze_only=true").status is Status.NOT_CHECKED


def test_updates_that_are_rounded_away_are_refused(check: Check) -> None:
    half = "model.dtype=bfloat16"
    found = check("size of updates", half, "trainer.learning_rate=1e-6")
    assert found.status is Status.REFUSED
    assert "model.dtype=float32" in found.reason
    assert check("size of updates", half, "trainer.learning_rate=1e-3").status is Status.PASSED
    assert check("size of updates", half, "trainer.learning_rate=1e-6", "deepspeed=zero2").status is Status.PASSED
    assert check("size of updates", half, "trainer.learning_rate=1e-6", "trainer.peft=lora").status is Status.NOT_APPLICABLE


def test_the_limit_of_updates_is_where_bfloat16_rounds() -> None:
    weight = torch.tensor(distribution._WEIGHT, dtype=torch.bfloat16)
    least = distribution._HALF["bfloat16"] * distribution._WEIGHT
    assert weight + 0.4 * least == weight
    assert weight + 2.1 * least != weight


def test_a_slow_rank_is_done_before_the_others_give_up(check: Check) -> None:
    cluster = ("experiment=gen_searcher", "scale=cluster_grpo")
    assert "at most 600 s" in check("slowest rank", *cluster).reason
    assert "set rollout.deadline_s" in check("slowest rank", *cluster, "rollout.deadline_s=null").reason
    # Of all of them together, however many are stepped at once.
    assert "at most 600 s" in check("slowest rank", *cluster, "rollout.concurrency=2").reason
    assert "lower rollout.deadline_s" in check("slowest rank", *cluster, "rollout.deadline_s=2000").reason
    drawn = check("slowest rank", *cluster, "generator=qwen_edit", "generator.base_url=http://127.0.0.1:1")
    assert drawn.status is Status.REFUSED
    assert "lower generator.timeout_s" in drawn.reason
