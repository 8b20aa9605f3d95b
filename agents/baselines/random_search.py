"""``random``: a few random but well-formed calls, then a random picture; the floor for search skill."""

from __future__ import annotations

from agents.scripted import ScriptedPolicy
from agents.subject import read_subject
from agents.turns import Script, read_candidates, read_crop, read_hits, say
from wildenv.policy import Observation


class RandomSearch(ScriptedPolicy):
    """Draws a tool at each turn.

    Args:
        answer_chance: Chance of answering at each turn once a picture is known.
    """

    def __init__(self, answer_chance: float = 0.3) -> None:
        super().__init__()
        self.answer_chance = answer_chance

    def script(self, observation: Observation) -> Script:
        """Yields calls until the dice or the budget say to answer."""
        name = read_subject(self.task_prompt).name
        urls: list[str] = []
        pictures: list[str] = []
        while observation["calls_left"] > 0 and not (pictures and self.random.random() < self.answer_chance):
            tools = ["text_search", "image_search"] + ["web_fetch"] * bool(urls) + ["crop_image"] * bool(pictures)
            match self.random.choice(tools):
                case "text_search":
                    observation = yield say("Search text.", "text_search", queries=[self._some(name)])
                    urls += [hit.url for hit in read_hits(observation)]
                case "web_fetch":
                    observation = yield say("Read a page.", "web_fetch", url=self.random.choice(urls), prompt=name)
                case "image_search":
                    observation = yield say("Search pictures.", "image_search", query=self._some(name))
                    pictures += [candidate.id for candidate in read_candidates(observation)]
                case _:
                    x, y = self.random.randint(0, 500), self.random.randint(0, 500)
                    picture = self.random.choice(pictures)
                    observation = yield say("Cut a part.", "crop_image", image_id=picture, box=[x, y, x + 500, y + 500])
                    pictures.append(read_crop(observation))
        chosen = [self.random.choice(pictures)] if pictures else []
        yield say("Enough.", "answer", prompt=self.task_prompt, references=chosen)

    def _some(self, name: str) -> str:
        words = name.split()
        return " ".join(self.random.sample(words, self.random.randint(1, len(words))))
