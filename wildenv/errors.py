"""Every exception that wildenv raises on purpose.

::

    WildenvError
    ├── ConfigError              a setting is wrong; the message names the setting
    ├── UsageError               the API was called in an order it does not allow
    ├── DataError                a file or record does not hold what its format promises
    │   └── PackError            a pack is damaged, or of a version this release cannot read
    ├── ActionError              the agent's doing; becomes an error observation, never leaves the environment
    │   ├── MessageError         an action that cannot be read as a tool call
    │   └── ToolError            a tool call with arguments the tool refuses, or with nothing to return
    │       └── PageWithheld     a page published after the cutoff (wildenv.web.cutoff)
    └── InfrastructureError      not the agent's doing; the episode is truncated and its reward is not valid
        └── WebError             the web layer failed
            ├── CacheMiss        replay mode holds no record of the request
            └── ProviderError    a search or page provider failed

The split matters to training: an `ActionError` is something a policy can learn to avoid, an `InfrastructureError` must not
move its weights.
"""

from __future__ import annotations


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


class InfrastructureError(WildenvError):
    """A failure outside the agent; the episode ends with `reward_valid=False`."""


class WebError(InfrastructureError):
    """The web layer failed."""


class CacheMiss(WebError):
    """Replay mode holds no record of a request; the message names the nearest record and what differs."""


class ProviderError(WebError):
    """A search or page provider failed."""
