"""``prompt_only``: hands the request on as it is, without references."""

from __future__ import annotations

from agents.scripted import ScriptedPolicy
from agents.turns import Script, say
from wildenv.policy import Observation


class PromptOnly(ScriptedPolicy):
    """Answers at once."""

    def script(self, observation: Observation) -> Script:
        """Yields the answer."""
        yield say("The request is handed on as it is.", "answer", prompt=self.task_prompt, references=[])
