"""``direct_search``: one image search with the name in the request, and the first picture it shows (Savanna, section 4.4)."""

from __future__ import annotations

from agents.scripted import ScriptedPolicy
from agents.subject import read_subject
from agents.turns import Script, read_candidates, say
from wildenv.policy import Observation


class DirectSearch(ScriptedPolicy):
    """Searches pictures by name and takes the first."""

    def script(self, observation: Observation) -> Script:
        """Yields the search and the answer."""
        observation = yield say("Search pictures by name.", "image_search", query=read_subject(self.task_prompt).name)
        first = [candidate.id for candidate in read_candidates(observation)][:1]
        yield say(
            "The first picture will do." if first else "Nothing was found.", "answer", prompt=self.task_prompt, references=first
        )
