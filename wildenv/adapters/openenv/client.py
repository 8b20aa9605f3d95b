"""A client of a served environment: the observations of `WildEnv`, from another process or machine.

``async with WildClient(url)`` is one session; `WildClient.sync` gives the same without ``await``. A session plays one episode
at a time. A lost connection is made anew by the next call, but its episode is lost: the server then asks for a reset.
"""

from __future__ import annotations

import re
from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from pydantic import ValidationError
from websockets.exceptions import ConnectionClosed

from wildenv.adapters.openenv.models import WildObservation, WildState
from wildenv.errors import DataError, InfrastructureError, UsageError
from wildenv.policy import Observation, Policy

_SEEN = ("text", "images", "calls_left", "done", "reward", "metadata")
_CODE = re.compile(r"\AServer error: (.*) \(code: (\w+)\)\Z", re.DOTALL)


class WildClient(EnvClient):  # type: ignore[misc] # openenv is untyped
    """One session.

    `reset` takes ``seed``, ``task_id``, ``system_prompt``, ``policy`` (its name in the record), ``index`` and ``split``; `step`
    takes an assistant message in any form of `wildenv.messages.parse_action`. Both return OpenEnv's ``StepResult``: its
    ``observation`` is a `wildenv.policy.Observation`; ``metadata`` has the other fields of
    `wildenv.adapters.openenv.models.WildObservation`.

    Args:
        base_url: Where the server is, such as ``"http://127.0.0.1:8000"``.
        message_timeout_s: Seconds to wait for a reply; a step that ends an episode waits for its judges.
        **settings: Others of OpenEnv's ``EnvClient``.
    """

    def __init__(self, base_url: str, message_timeout_s: float = 600.0, **settings: Any) -> None:
        super().__init__(base_url=base_url, message_timeout_s=message_timeout_s, **settings)

    def _step_payload(self, action: Any) -> dict[str, Any]:
        return {"message": action}

    def _parse_result(self, payload: dict[str, Any]) -> StepResult:
        try:
            told = WildObservation(**payload["observation"], reward=payload.get("reward"), done=payload.get("done", False))
        except (KeyError, TypeError, ValidationError) as error:
            raise DataError(f"the reply is not an observation of wildenv; is it served there? {error}") from error
        seen: Observation = {
            "text": told.text,
            "images": tuple(picture.pixels() for picture in told.images),
            "calls_left": told.calls_left,
        }
        others = told.model_dump(exclude=set(_SEEN))
        return StepResult(observation=seen, reward=told.reward, done=told.done, metadata=others)

    def _parse_state(self, payload: dict[str, Any]) -> WildState:
        return WildState(**payload)

    async def _send_and_receive(self, message: dict[str, Any]) -> dict[str, Any]:
        try:
            reply: dict[str, Any] = await super()._send_and_receive(message)
        except ConnectionClosed as error:
            raise InfrastructureError(f"the server ended the session: {error}") from error
        except TimeoutError as error:
            raise InfrastructureError(f"no reply within message_timeout_s={self._message_timeout:g} s") from error
        except RuntimeError as error:
            refused = _CODE.match(str(error))
            if refused is None:
                raise
            if refused[2] == "CAPACITY_REACHED":
                told = f"the server has no session left ({refused[1]}); end some, or serve more with --max-sessions"
                raise InfrastructureError(told) from None
            raise UsageError(f"the server refused: {refused[1]}") from None
        return reply


async def play_remote(client: WildClient, policy: Policy, task_id: str, seed: int = 0, name: str = "") -> StepResult:
    """Lets a policy play one episode to its end.

    Args:
        client: A session that nobody else is using.
        policy: A policy that nobody else is using; what it raises is passed on.
        task_id: The task.
        seed: For the environment and the policy.
        name: Name of the policy in the record.

    Returns:
        The last step. Its ``metadata`` has ``end_reason``, ``reward_valid``, ``rewards`` and ``digest``, which is that of the
        same episode played by `wildenv.rollout.play`, what a policy tells of its model's use left out.

    Raises:
        UsageError: If the server refuses something, such as a task it does not have.
        InfrastructureError: If it has no session left, ends the session, or does not reply.
    """
    given = {
        "task_id": task_id,
        "seed": seed,
        "policy": name or type(policy).__name__,
        "system_prompt": getattr(policy, "system_prompt", None),
    }
    result = await client.reset(**{key: value for key, value in given.items() if value is not None})
    policy.reset(result.metadata["task_prompt"], result.metadata["tools"], seed)
    while not result.done:
        result = await client.step(await policy.act(result.observation))
    return result
