from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest
from PIL import Image

from wildenv.adapters.trl import WildTools, environments, reward_functions, session_of
from wildenv.env import WildEnv
from wildenv.errors import ConfigError, InfrastructureError, ToolError
from wildenv.generators.compositor import Compositor
from wildenv.judges.base import Submission, Verdict
from wildenv.miniweb.provider import MiniwebProvider
from wildenv.miniweb.world import MiniWorld
from wildenv.registration import make_reward
from wildenv.rewards.base import RewardReport
from wildenv.rewards.combined import CombinedReward, dual
from wildenv.rewards.component import ComponentScore
from wildenv.task import Task
from wildenv.web.client import WebClient


def tools(world: MiniWorld, **kwargs: Any) -> WildTools:
    return environments(lambda: WildEnv(world.tasks("train"), WebClient(MiniwebProvider(world)), **kwargs))()


def first(world: MiniWorld) -> Task:
    return world.tasks("train")[0]


def test_only_reset_and_the_tools_are_public(small_world: MiniWorld) -> None:
    environment = tools(small_world)
    public = {name for name, _ in inspect.getmembers(type(environment)) if not name.startswith("_")}
    names = {schema["function"]["name"] for schema in session_of(environment).env.tools_schema()}
    assert public == {"reset", *names}
    assert not [name for name in vars(environment) if not name.startswith("_")]


def test_trl_makes_the_schemas_that_the_environment_shows(small_world: MiniWorld) -> None:
    get_json_schema = pytest.importorskip("transformers.utils").get_json_schema
    environment = tools(small_world)
    for schema in session_of(environment).env.tools_schema():
        own = schema["function"]
        made = get_json_schema(getattr(environment, own["name"]))["function"]
        assert made["description"] == own["description"]
        assert list(made["parameters"]["properties"]) == list(own["parameters"]["properties"])
        assert made["parameters"]["required"] == own["parameters"]["required"]
        for name, value in own["parameters"]["properties"].items():
            assert made["parameters"]["properties"][name]["type"] == value["type"]


def test_an_episode_by_methods_is_the_episode_by_steps(small_world: MiniWorld) -> None:
    environment = tools(small_world)
    task = first(small_world)
    assert environment.reset(task_id=task.id, prompt=[]) == f"\n{task.prompt}\nToday is {task.issued.isoformat()}."
    found = environment.image_search("press picture")
    assert [block["type"] for block in found].count("image") >= 1
    assert all(isinstance(block["image"], Image.Image) for block in found if block["type"] == "image")
    environment.answer("a prompt", ["IMG_001"])
    session = session_of(environment)
    played = WildEnv(small_world.tasks("train"), WebClient(MiniwebProvider(small_world)))
    played.reset(seed=0, options={"task_id": task.id, "policy": "trl"})
    played.step({"name": "image_search", "arguments": {"query": "press picture"}})
    played.step({"name": "answer", "arguments": {"prompt": "a prompt", "references": ["IMG_001"]}})
    assert session.ended
    assert session.episode.digest() == played.episode.digest()
    with pytest.raises(ToolError, match="ended"):
        environment.text_search(["more"])


def test_the_system_message_of_the_row_is_the_chats(small_world: MiniWorld) -> None:
    environment = tools(small_world)
    environment.reset(task_id=first(small_world).id, prompt=[{"role": "system", "content": "Be brief."}, {"role": "user"}])
    assert session_of(environment).episode.messages[0]["content"][0]["text"] == "Be brief."


def test_reset_forgets_the_episode_before(small_world: MiniWorld) -> None:
    environment = tools(small_world)
    task = first(small_world)
    environment.reset(task_id=task.id)
    environment.answer("a prompt", [])
    fresh = tools(small_world)
    for one in (environment, fresh):
        one.reset(task_id=task.id)
    assert session_of(environment).episode.digest() == session_of(fresh).episode.digest()
    assert session_of(environment).report is None
    assert not session_of(environment).ended


def test_what_a_dataset_or_an_environment_must_have(small_world: MiniWorld) -> None:
    with pytest.raises(ConfigError, match="task_id"):
        tools(small_world).reset(prompt=[])
    reward = make_reward({"components": ["search"]}, small_world.tasks("train"), small_world.config)
    with pytest.raises(ConfigError, match="reward=null"):
        tools(small_world, reward=reward)


class Grade:
    """A component that gives what it is told to, and counts how often it is asked."""

    needs_picture = False
    bonus = False
    parts: tuple[str, ...] = ()

    def __init__(self, name: str, values: dict[str, float | None], bonus: bool = False) -> None:
        self.name, self.values, self.bonus, self.asked, self.at_once, self.most = name, values, bonus, 0, 0, 0

    async def score(self, task: Task, submission: Submission) -> ComponentScore:
        self.asked += 1
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0.02)
        self.at_once -= 1
        value = self.values.get(submission.prompt)
        return ComponentScore(value, (Verdict(self.name, value, "as told"),))


def answered(world: MiniWorld, prompts: list[str]) -> list[WildTools]:
    played = []
    for prompt in prompts:
        environment = tools(world)
        environment.reset(task_id=first(world).id)
        environment.image_search("press picture")
        environment.answer(prompt, ["IMG_001"])
        played.append(environment)
    return played


async def scores(functions: list[Any], environments: list[WildTools]) -> list[list[float | None]]:
    return await asyncio.gather(*(one.function(environments=environments, prompts=[], completions=[]) for one in functions))


def test_the_dual_reward_is_two_functions_that_judge_each_answer_once(small_world: MiniWorld) -> None:
    image, text = Grade("generation", {"a": 1.0, "b": 0.4}), Grade("sufficiency", {"a": 0.5, "b": 0.0})
    functions = reward_functions(CombinedReward([image, text], dual(0.25, "generation")), concurrency=2)
    assert [(one.name, one.weight, one.function.__name__) for one in functions] == [
        ("image_reward", 0.75, "image_reward"),
        ("text_reward", 0.25, "text_reward"),
    ]
    environments_ = answered(small_world, ["a", "b", "a", "b"])
    assert asyncio.run(scores(functions, environments_)) == [[1.0, 0.4, 1.0, 0.4], [0.5, 0.0, 0.5, 0.0]]
    assert (image.asked, text.asked, image.most) == (4, 4, 2)
    logged: list[tuple[str, float]] = []
    for one in functions:
        asyncio.run(one.function(environments=environments_, log_metric=lambda *pair: logged.append(pair)))
    assert logged == [("components/generation", pytest.approx(0.7)), ("components/sufficiency", pytest.approx(0.25))]
    rewards = [session_of(one).episode.reward for one in environments_]
    assert rewards == pytest.approx([0.875, 0.3, 0.875, 0.3])
    assert all(session_of(one).episode.reward_valid for one in environments_)


def test_a_judge_that_fails_abstains_for_the_whole_rollout(small_world: MiniWorld) -> None:
    image, text = Grade("generation", {"a": 1.0, "b": None}), Grade("sufficiency", {"a": 1.0, "b": 1.0})
    functions = reward_functions(CombinedReward([image, text], dual(0.5, "generation")))
    environments_ = answered(small_world, ["a", "b"])
    assert asyncio.run(scores(functions, environments_)) == [[1.0, None], [1.0, None]]
    failed = session_of(environments_[1]).episode
    assert (failed.end_reason, failed.reward_valid, failed.reward) == ("judge", False, 0.0)
    assert failed.rewards == {"generation": None, "sufficiency": 1.0}


def test_a_reward_that_raises_abstains(small_world: MiniWorld) -> None:
    class Broken:
        async def score(self, task: Task, submission: Submission | None) -> RewardReport:
            raise OSError("the judge is away")

    functions = reward_functions(Broken())
    environments_ = answered(small_world, ["a"])
    assert asyncio.run(scores(functions, environments_)) == [[None]]
    assert "the judge is away" in session_of(environments_[0]).episode.verdicts[0]["reason"]


def test_a_failed_episode_is_not_judged_and_one_without_an_answer_earns_nothing(small_world: MiniWorld) -> None:
    class Away(MiniwebProvider):
        def text_search(self, *args: Any, **kwargs: Any) -> Any:
            raise InfrastructureError("the search service is away")

    grade = Grade("sufficiency", {})
    functions = reward_functions(CombinedReward([grade], {"sufficiency": 1.0}))
    assert functions[0].name == "text_reward"
    down = environments(lambda: WildEnv(small_world.tasks("train"), WebClient(Away(small_world))))()
    silent = tools(small_world)
    for one in (down, silent):
        one.reset(task_id=first(small_world).id)
    down.text_search(["anything"])
    assert session_of(down).episode.end_reason == "web"
    assert asyncio.run(scores(functions, [down, silent])) == [[None, 0.0]]
    assert grade.asked == 0
    assert session_of(silent).episode.end_reason == "turns"


def test_functions_of_any_reward_add_up_to_it(small_world: MiniWorld) -> None:
    values: dict[str, Any] = {"components": ["search", "generation", "sufficiency", "format", "cost"]}
    weights = {"search": 0.3, "generation": 0.4, "sufficiency": 0.2, "format": 0.05, "cost": 0.05}
    values |= {"weights": weights, "generator": "compositor"}
    reward = make_reward(values, small_world.tasks("train"), small_world.config)
    assert isinstance(reward, CombinedReward)
    assert isinstance(reward.generator, Compositor)
    functions = reward_functions(reward)
    assert [one.name for one in functions] == ["search_reward", "image_reward", "text_reward", "bonus_reward"]
    environments_ = answered(small_world, ["the new thing on a table"])
    bare = tools(small_world)
    bare.reset(task_id=first(small_world).id)
    bare.answer("the new thing on a table", [])
    environments_.append(bare)
    columns = asyncio.run(scores(functions, environments_))
    for row, environment in zip(zip(*columns, strict=True), environments_, strict=True):
        total = sum(one.weight * (value or 0.0) for one, value in zip(functions, row, strict=True))
        assert total == pytest.approx(session_of(environment).episode.reward)


def test_judging_needs_a_place(small_world: MiniWorld) -> None:
    with pytest.raises(ConfigError, match="judge_concurrency"):
        reward_functions(CombinedReward([Grade("sufficiency", {})], {"sufficiency": 1.0}), concurrency=0)
