"""Every exception that wildenv raises on purpose.

::

    WildenvError
    ├── ConfigError              a setting is wrong; the message names the setting
    ├── UsageError               the API was called in an order it does not allow
    ├── DataError                a file or record does not hold what its format promises
    │   ├── PackError            a pack is damaged, or of a version this release cannot read
    │   └── ReplyError           a chat model's reply that cannot be used (wildenv.models.reply)
    ├── ActionError              the agent's doing; becomes an error observation, never leaves the environment
    │   ├── MessageError         an action that cannot be read as a tool call
    │   └── ToolError            a tool call with arguments the tool refuses, or with nothing to return
    │       ├── PageWithheld     a page published after the cutoff (wildenv.web.cutoff)
    │       └── Unavailable      one address cannot be had at the moment; another one may
    └── InfrastructureError      not the agent's doing; the episode is truncated and its reward is not valid
        ├── GeneratorError       an image generator failed
        └── WebError             the web layer failed
            ├── CacheMiss        replay mode holds no record of the request
            ├── ProviderError    a search or page provider failed
            └── DeadlineExceeded a tool call took longer than it may

The split matters to training: an `ActionError` is something a policy can learn to avoid, an `InfrastructureError` must not
move its weights. A site that is down is part of the web an agent has to live with; a search service that is down is not.
"""

from __future__ import annotations


def told(error: BaseException) -> str:
    """Returns the kind of an exception and what it says; one of somebody else's making may be unable to say anything."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - whatever its `__str__` raises
        return f"{type(error).__name__} (which cannot be written out)"


class WildenvError(Exception):
    """Base of the tree."""


class ConfigError(WildenvError):
    """A setting is wrong; the message names it."""


class UsageError(WildenvError):
    """The API was called in an order it does not allow, for example `step` after the end of an episode."""


class DataError(WildenvError):
    """A file or record does not hold what its format promises."""


class PackError(DataError):
    """A pack is damaged, or of a version this release cannot read."""


class ActionError(WildenvError):
    """Something the agent did and can repair; shown to it as an error observation."""


class MessageError(ActionError):
    """An action that cannot be read as a tool call."""


class ToolError(ActionError):
    """A tool call whose arguments the tool refuses, or that has nothing to return."""


class Unavailable(ToolError):
    """One address cannot be had at the moment: its site is down, slow, refuses, or sends what is not safe to read.

    Args:
        url: The address.
        kind: What went wrong, one of a few words (``"timeout"``, ``"http 503"``, ``"too large"``); counted in reports.
        detail: For a log; never shown to the agent, so that a replay says the same.
    """

    def __init__(self, url: str, kind: str, detail: str = "") -> None:
        super().__init__(f"{url} cannot be fetched; try another address")
        self.url = url
        self.kind = kind
        self.detail = detail

    def __reduce__(self) -> tuple[type[Unavailable], tuple[str, str, str]]:
        return type(self), (self.url, self.kind, self.detail)


class InfrastructureError(WildenvError):
    """A failure outside the agent; the episode ends with `reward_valid=False`."""


class GeneratorError(InfrastructureError):
    """An image generator failed; the message names the generator and the setting to change."""


class WebError(InfrastructureError):
    """The web layer failed."""


class CacheMiss(WebError):
    """Replay mode holds no record of a request; the message names the nearest record and what differs."""


class ProviderError(WebError):
    """A search or page provider failed.

    Args:
        message: Names the provider and the setting to change.
        kind: What went wrong, one of a few words (``"timeout"``, ``"http 503"``, ``"quota"``); counted in reports.
    """

    def __init__(self, message: str, kind: str = "failed") -> None:
        super().__init__(message)
        self.kind = kind

    def __reduce__(self) -> tuple[type[ProviderError], tuple[str, str]]:
        return type(self), (str(self), self.kind)


class DeadlineExceeded(WebError):
    """A tool call took longer than `env.tool_deadline_s` allows."""
