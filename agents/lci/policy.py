"""Locate-Corroborate-Isolate as a script that reads text and pixels like anyone else (Savanna, section 3.1).

The reasoning of each turn is written for a learner: facts with their source before a query, what each picture shows before a
choice, and where the thing stands before a box. The script reads colours and patterns, not shapes or lettering.
"""

from __future__ import annotations

import re
from collections.abc import Generator

from agents.lci import corroborate, isolate, locate
from agents.lci.corroborate import Match
from agents.lci.locate import Dossier
from agents.prompts import load_prompt
from agents.scripted import ScriptedPolicy
from agents.subject import read_subject
from agents.turns import Candidate, Script, failed, read_candidates, read_crop, say
from wildenv.messages import Message
from wildenv.policy import Observation

_TODAY = re.compile(r"Today is (\d{4}-\d\d-\d\d)")


class LciPolicy(ScriptedPolicy):
    """The scripted teacher. Each phase can be switched off.

    Args:
        locate: Read text before searching pictures; without it pictures are searched by the name in the request.
        corroborate: Check candidates against the facts and each other; without it the first picture is taken.
        isolate: Crop when the frame is shared.
    """

    system_prompt = load_prompt("lci")

    def __init__(self, locate: bool = True, corroborate: bool = True, isolate: bool = True) -> None:
        super().__init__()
        self.locate = locate
        self.corroborate = corroborate
        self.isolate = isolate

    def script(self, observation: Observation) -> Script:
        """Yields the episode's messages."""
        today = _TODAY.search(observation["text"])
        dossier = Dossier(read_subject(self.task_prompt), today.group(1) if today else "")
        if self.locate:
            observation = yield from self._learn(dossier, observation)
        lead = locate.summary(dossier) if self.locate else "Search pictures by name."
        observation = yield say(lead, "image_search", query=dossier.image_query)
        candidates = read_candidates(observation)
        if self.corroborate:
            (thought, match), observation = yield from self._check(dossier, candidates, observation)
        else:
            thought, match = "The first picture will do.", corroborate.nearest(candidates[:1], dossier)
        image_id = match.candidate.id if match else candidates[0].id if candidates and not self.corroborate else ""
        yield from self._hand_on(dossier, thought, match, image_id, observation)

    def _learn(self, dossier: Dossier, observation: Observation) -> locate.Turn:
        observation = yield from locate.learn_more(dossier, f"Locate: what does the {dossier.subject.name} look like?")
        while dossier.open and not (dossier.facts.launch and "main" in dossier.facts.known) and observation["calls_left"] > 3:
            observation = yield from locate.learn_more(dossier, locate.summary(dossier))
        return observation

    def _check(
        self, dossier: Dossier, candidates: list[Candidate], observation: Observation
    ) -> Generator[Message, Observation, tuple[tuple[str, Match | None], Observation]]:
        """Returns the thought and the chosen match; goes back to text or searches again while the choice is open."""
        shown = f"Corroborate: {corroborate.describe(candidates, dossier)}. "
        queries = _further_queries(dossier)
        while True:
            groups = corroborate.group(candidates, dossier)
            views = [corroborate.best_view(group) for group in groups]
            found = [f"{corroborate.looks_of(view.sighting)} {view.candidate.id}" for view in views]
            thought = f"{shown}Wanted: {dossier.facts.wanted()}. Match: {' or '.join(found) or 'none'}."
            shown = ""
            if len(groups) == 1 or not self.locate or observation["calls_left"] < 3:
                break
            if not groups and queries and dossier.facts.telling:
                observation = yield say(f"{thought} Search again.", "image_search", query=queries.pop(0))
                known = {candidate.id for candidate in candidates}
                new = [candidate for candidate in read_candidates(observation) if candidate.id not in known]
                candidates = [*candidates, *new]
                shown = f"Corroborate: {corroborate.describe(new, dossier) or 'nothing new'}. "
            elif dossier.open:
                observation = yield from locate.learn_more(dossier, f"{thought} Back to text.")
            else:
                break
        if len(groups) == 1:
            return (thought, views[0]), observation
        match = views[0] if views else corroborate.nearest(candidates, dossier)
        closest = f" Closest: {corroborate.looks_of(match.sighting)} {match.candidate.id}." if match else " Nothing to choose."
        return (thought + closest, match), observation

    def _hand_on(self, dossier: Dossier, thought: str, match: Match | None, image_id: str, observation: Observation) -> Script:
        box = isolate.crop_box(match) if match and self.isolate and observation["calls_left"] > 0 else None
        if box is not None and match is not None:
            why = "it is small in the frame" if match.alone else "it shares the frame"
            observation = yield say(f"{thought} Isolate: {why}.", "crop_image", image_id=image_id, box=box)
            thought = "The crop shows it alone."
            if not failed(observation):
                image_id = read_crop(observation)
        yield say(thought, "answer", prompt=self._refined(dossier), references=[image_id] if image_id else [])

    def _refined(self, dossier: Dossier) -> str:
        known = dossier.facts.known
        looks = [f"{known[name]} {name}" for name in ("main", "trim", "pattern") if name in known]
        told = f" Its looks: {', '.join(looks)}." if looks else ""
        return f"{self.task_prompt}{told} As in the first reference image."


def _further_queries(dossier: Dossier) -> list[str]:
    """Returns image queries to try after the first, best first."""
    launch, proper = dossier.facts.launch, dossier.subject.proper
    return [f"{launch} {proper}", f"{launch} stage"] if launch else [f"{proper} launch"]
