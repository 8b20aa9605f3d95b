"""Pairs of settings that hang, save nothing, or lose updates once training is spread out or made smaller."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from math import ceil
from typing import Any

import httpx
import torch

from trainers.checks.finding import Finding, Spared, Status
from trainers.checks.subject import GRPO, Subject
from trainers.launch import check_devices
from wildenv.errors import ConfigError

DEEPSPEED, GENERATION, DUMMY, DEVICES, UPDATES, PATIENCE = (
    "DeepSpeed",
    "generation",
    "dummy picture",
    "devices",
    "size of updates",
    "slowest rank",
)
_WATCHDOG_S = 1800
"""Seconds after which torch ends ranks that wait for another one: `ddp_timeout` of transformers."""
_ANSWER_S = 3.0
_WEIGHT = 0.02
"""How large a weight of a pretrained model typically is; the spread that transformers are initialised with."""
_HALF = {"bfloat16": 2.0**-9, "float16": 2.0**-12}
"""Half the distance between neighbouring numbers, relative to their size: a smaller change is rounded away."""


def deepspeed(subject: Subject) -> Iterator[Finding]:
    """Whether DeepSpeed is there, and whether its checkpoints hold weights."""
    settings = subject.config["deepspeed"]["config"]
    if settings is None:
        raise Spared("deepspeed=none")
    if subject.here and find_spec("deepspeed") is None:
        raise ConfigError("deepspeed is not installed; run pip install -e '.[train]', or set deepspeed=none")
    stage, zero = subject.zero_stage, settings.get("zero_optimization", {})
    if stage == 3 and not zero.get("stage3_gather_16bit_weights_on_model_save"):
        raise ConfigError(
            "deepspeed.config.zero_optimization.stage3_gather_16bit_weights_on_model_save is not true: checkpoints would hold "
            "empty tensors; set it to true, as deepspeed=zero3 does"
        )
    gathered = ", weights are gathered when a checkpoint is saved" if stage == 3 else ""
    yield Finding(DEEPSPEED, Status.PASSED, f"ZeRO-{stage}{gathered}")


def generation(subject: Subject) -> Iterator[Finding]:
    """Whether rollouts can be generated with the weights as they are partitioned."""
    if subject.kind != GRPO:
        raise Spared("nothing is generated in supervised training")
    rollout, stage = subject.config["rollout"], subject.zero_stage
    for group, settings in (("rollout", rollout), ("trainer", subject.trainer)):
        if stage == 3 and settings.get("ds3_gather_for_generation") is False:
            raise ConfigError(
                f"{group}.ds3_gather_for_generation=false under ZeRO-3: ranks stop at different lengths and wait for each "
                f"other for ever; leave {group}.ds3_gather_for_generation out, or set deepspeed=zero2 or rollout=vllm_server"
            )
    match rollout["backend"]:
        case "transformers":
            how = "weights are gathered once for each rollout, so that all of them must fit on one device" if stage == 3 else ""
            yield Finding(GENERATION, Status.PASSED, "in this process" + (f"; {how}" if how else ""))
        case "vllm":
            yield _vllm(subject, rollout, stage)
        case other:
            raise ConfigError(f"rollout.backend={other!r} is neither transformers nor vllm; set rollout=transformers")


def _vllm(subject: Subject, rollout: dict[str, Any], stage: int) -> Finding:
    mode = rollout.get("mode")
    if mode not in ("colocate", "server"):
        raise ConfigError(f"rollout.mode={mode!r} is neither colocate nor server; set rollout=vllm_colocate or vllm_server")
    shards = rollout.get("tensor_parallel_size", 1)
    if mode == "colocate" and subject.ranks % shards:
        raise ConfigError(
            f"rollout.tensor_parallel_size={shards} does not divide the {subject.ranks} ranks; change it or launch.processes"
        )
    subject.must_train_here()
    if find_spec("vllm") is None:
        raise ConfigError("rollout.backend=vllm and vllm is not installed; run pip install vllm, or set rollout=transformers")
    gathered = "; under ZeRO-3 weights are gathered to be handed over" if stage == 3 else ""
    if mode == "server":
        url = str(rollout["url"]).rstrip("/")
        try:
            answered = httpx.get(f"{url}/health/", timeout=_ANSWER_S).is_success
        except httpx.HTTPError as error:
            raise ConfigError(
                f"no vLLM server answers at rollout.url={url} ({type(error).__name__}); start it with trl vllm-serve --model "
                f"{subject.model['path']}, or change rollout.url"
            ) from error
        if not answered:
            raise ConfigError(f"what answers at rollout.url={url} is no server of trl vllm-serve; change rollout.url")
        return Finding(GENERATION, Status.PASSED, f"a vLLM server answers at {url}{gathered}")
    if subject.trained_on_cpu:
        raise ConfigError("rollout.mode=colocate needs a GPU, and there is none here; set rollout=transformers")
    return Finding(GENERATION, Status.PASSED, f"vLLM in the training processes, {shards} to a model{gathered}")


def dummy_image(subject: Subject) -> Iterator[Finding]:
    """Whether a rank without pictures keeps pace with the others."""
    asked, ranks = subject.trainer["dummy_image"], subject.ranks
    if not subject.sees:
        if asked:
            raise ConfigError("trainer.dummy_image=true needs a model that sees; set it to false for a text-only model")
        raise Spared("the model takes no pictures")
    if ranks == 1:
        raise Spared("a single rank waits for nobody")
    if asked:
        yield Finding(DUMMY, Status.PASSED, "a batch without pictures gets a masked one, so that all ranks use the same weights")
    elif (subject.zero_stage or 0) >= 2:
        raise ConfigError(
            "under ZeRO the ranks share gradients, or weights, in step: a rank whose batch has no picture has none of the vision "
            "tower, and the run hangs or breaks off; set trainer.dummy_image=true"
        )
    else:
        yield Finding(
            DUMMY,
            Status.WARNING,
            f"should a batch of one of the {ranks} ranks have no picture, it has no gradients of the vision tower to share; "
            "trainer.dummy_image=true makes sure that it has",
        )


def devices(subject: Subject) -> Iterator[Finding]:
    """Whether there is a device for every rank, and one only: a process with several would mix up the pictures of a batch."""
    subject.must_train_here()
    if subject.ranks > 1:
        check_devices(subject.ranks)
    visible = torch.cuda.device_count()
    if subject.ranks == 1 and visible > 1 and subject.config["deepspeed"]["config"] is None:
        raise ConfigError(
            f"{visible} GPUs are visible to one process, which would split its batches over them, but not the pictures; set "
            f"launch.processes={visible}, or CUDA_VISIBLE_DEVICES=0 in the environment"
        )
    yield Finding(DEVICES, Status.PASSED, f"{subject.ranks} ranks, {visible} GPUs here")


def updates(subject: Subject) -> Iterator[Finding]:
    """Whether updates are large enough not to be rounded away."""
    dtype, rate = subject.model["dtype"], subject.trainer["learning_rate"]
    if dtype not in _HALF:
        raise Spared(f"weights are trained in {dtype}")
    if subject.trainer["peft"] == "lora" or subject.trainer.get("adapter"):
        raise Spared("the adapter is trained, not the weights")
    if subject.config["deepspeed"]["config"] is not None:
        yield Finding(UPDATES, Status.PASSED, "DeepSpeed keeps the weights it trains in float32 as well")
        return
    least = _HALF[dtype] * _WEIGHT
    if rate < least:
        raise ConfigError(
            f"model.dtype={dtype} rounds away updates of trainer.learning_rate={rate:g}: beside a weight of {_WEIGHT} nothing "
            f"below {least:.1g} is kept; set model.dtype=float32, trainer.peft=lora or deepspeed=zero2"
        )
    yield Finding(UPDATES, Status.PASSED, f"trainer.learning_rate={rate:g} is above what {dtype} rounds away")


def patience(subject: Subject) -> Iterator[Finding]:
    """Whether one slow rank is done before the others give it up."""
    if subject.kind != GRPO or subject.ranks == 1:
        raise Spared("no rank waits for the rollouts of another")
    rollout, settings = subject.config["rollout"], subject.trainer
    if rollout["deadline_s"] is None:
        raise ConfigError(
            f"rollout.deadline_s is null, and ranks that wait {_WATCHDOG_S} s for a slow one are ended; set rollout.deadline_s"
        )
    own = ceil(settings["group"] * settings["prompts"] / subject.ranks)
    waves = ceil(own / settings["judge_concurrency"])
    playing = rollout["deadline_s"]
    judging, drawing = (waves * seconds for seconds in _scoring(subject))
    whole = playing + judging + drawing
    if whole >= _WATCHDOG_S:
        slowest = max((playing, "rollout.deadline_s"), (judging, "judge.model.timeout_s"), (drawing, "generator.timeout_s"))[1]
        raise ConfigError(
            f"a rank may take {whole:g} s for its rollouts (playing {playing:g}, judging {judging:g}, drawing {drawing:g}), and "
            f"the others are ended after waiting {_WATCHDOG_S} s; lower {slowest}"
        )
    yield Finding(PATIENCE, Status.PASSED, f"at most {whole:g} s for a rank's rollouts, {_WATCHDOG_S} s until others give up")


def _scoring(subject: Subject) -> tuple[float, float]:
    """Returns the seconds that judging and drawing may take; 0 where nothing is waited for."""
    try:
        reward = subject.reward_fields
    except Spared:
        return 0.0, 0.0
    model = reward["judge"].get("model") if isinstance(reward["judge"], dict) else None
    return _timeout(model), _timeout(reward["generator"])


def _timeout(settings: Any) -> float:
    return float(settings.get("timeout_s", 0)) if isinstance(settings, dict) else 0.0
