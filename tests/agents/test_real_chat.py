"""Policies against a real endpoint: a model of 135 million weights answers badly, and every turn of it is recorded."""

from __future__ import annotations

import asyncio

import pytest

from agents.baselines.workflow import Workflow
from agents.chat import ChatPolicy
from tests.fakes import make_env
from tests.models import test_real_server
from tests.models.test_real_server import Endpoint
from wildenv.budget import Limits
from wildenv.episode import INFRASTRUCTURE
from wildenv.models.chat import ChatModel
from wildenv.models.dialect import Dialect
from wildenv.models.sampling import Sampling
from wildenv.policy import Policy
from wildenv.rollout import play

pytestmark = [pytest.mark.slow, pytest.mark.loopback]

endpoint = test_real_server.endpoint


def test_a_small_model_plays_to_the_end(endpoint: Endpoint) -> None:
    with ChatModel(endpoint.model, endpoint.url, sampling=Sampling(max_tokens=48), dialect=Dialect("hermes")) as model:
        policies: list[Policy] = [ChatPolicy(model, prompt="direct", max_turns=2), Workflow(model)]
        for policy in policies:
            episode = asyncio.run(play(make_env(limits=Limits(tool_calls=2, spare_turns=1)), policy, "task-1", seed=5))
            said = [message for message in episode.messages if message["role"] == "assistant"]
            assert episode.end_reason not in INFRASTRUCTURE
            assert len(said) == episode.usage["turns"] > 0
            assert all(message["content"] or message["tool_calls"] for message in said)
        assert model.usage.calls > len(policies)
