"""Contract checks for a tool, a judge, a provider or a policy of your own.

Each check runs its rules in order and raises `AssertionError` at the first one that is broken, saying what to change. They find
what breaks an environment, a recording or a training run; they do not say whether a tool is useful or a judge is right.
"""

from wildenv.check.judge import check_judge
from wildenv.check.policy import check_policy
from wildenv.check.provider import check_provider
from wildenv.check.tool import check_tool

__all__ = ["check_judge", "check_policy", "check_provider", "check_tool"]
