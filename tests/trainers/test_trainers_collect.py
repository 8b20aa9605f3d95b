from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import compose, initialize_config_dir

from agents.maker import make_policy
from agents.runs import plain
from trainers.collect import collect, default_folder, write_rows
from trainers.data import RowFolder
from trainers.filters import FilterSettings
from trainers.source import prepare
from wildenv.episode import read_episodes
from wildenv.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
HIDDEN = ("ground_truth", "rubric", "facts", "target")


def entry(path: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "conf" / path).read_text(encoding="utf-8"))
    return loaded


@pytest.fixture
def env() -> dict[str, Any]:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose("collect", overrides=["env.world.events=60", "env.world.seed=3"])
    return {**plain(config)["env"], "pixels": {"max_pixels": 12544, "multiple": 28}}


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    return {**entry("collect/default.yaml"), "limit": 6, "folder": str(tmp_path / "episodes")}


def test_collecting_filters_and_goes_on_where_it_stopped(
    settings: dict[str, Any], env: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    agent = entry("agent/lci.yaml")
    folder = collect({**settings, "limit": 4}, env, agent, 0)
    first = [episode.digest() for episode in read_episodes(folder)]
    assert collect(settings, env, agent, 0) == folder
    episodes = list(read_episodes(folder))
    assert len(episodes) == 6
    assert [episode.digest() for episode in episodes[:4]] == first
    assert "rolled 2 episodes" in capsys.readouterr().out
    rows = RowFolder(folder)
    report = json.loads((folder / "filters.json").read_text())
    assert report["total"] == 6
    assert report["kept"] == len(rows) > 0
    assert sum(report["counts"].values()) == 6 - len(rows)
    kept = {episode.task_id: episode for episode in episodes}
    for number in range(len(rows)):
        row = rows[number]
        assert row.messages == kept[row.task_id].messages
        assert kept[row.task_id].rewards["search"] == 1
        assert not set(HIDDEN) & set(row.to_dict())


def test_rows_can_be_written_as_a_dataset_and_trained_from_it(
    settings: dict[str, Any], env: dict[str, Any], tmp_path: Path
) -> None:
    folder = collect({**settings, "dataset": str(tmp_path / "hub")}, env, entry("agent/lci.yaml"), 0)
    data = {"source": "hf", "path": str(tmp_path / "hub"), "split": "train"}
    again = RowFolder(prepare({"data": data}, tmp_path / "run"))
    rows = RowFolder(folder)
    assert [again[n].to_dict() for n in range(len(again))] == [rows[n].to_dict() for n in range(len(rows))]


def test_an_agent_that_never_succeeds_leaves_no_rows(settings: dict[str, Any], env: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="none of 6 episodes"):
        collect(settings, env, entry("agent/prompt_only.yaml"), 0)


def test_an_episode_rolled_twice_counts_once(settings: dict[str, Any], env: dict[str, Any]) -> None:
    folder = collect(settings, env, entry("agent/lci.yaml"), 0)
    lines = (folder / "episodes.jsonl").read_text().splitlines(keepends=True)
    failed = {**json.loads(lines[0]), "end_reason": "web", "failure": "search: down", "answer": None}
    (folder / "episodes.jsonl").write_text(json.dumps(failed) + "\n" + "".join(lines))
    assert write_rows(folder, FilterSettings()).total == 6


def test_the_folder_follows_the_recipe_and_not_the_limit(settings: dict[str, Any], env: dict[str, Any]) -> None:
    agent = entry("agent/lci.yaml")
    one = default_folder(settings, env, agent, 0)
    assert default_folder({**settings, "limit": 99}, env, agent, 0) == one
    assert default_folder(settings, env, {**agent, "isolate": False}, 0) != one
    assert default_folder(settings, env, agent, 1) != one


def test_a_class_that_cannot_be_made_names_the_setting() -> None:
    with pytest.raises(ConfigError, match=r"agent\._target_=no\.such\.Policy"):
        make_policy({"_target_": "no.such.Policy", "name": "x"})


def test_policies_share_what_is_made_once() -> None:
    shared = {"_target_": "random.Random", "x": 1}
    maker = make_policy({"_target_": "types.SimpleNamespace", "name": "x", "dice": shared, "chance": 0.5})
    one, two = maker(), maker()
    assert one is not two
    assert one.dice is two.dice  # type: ignore[attr-defined]
    assert one.chance == 0.5  # type: ignore[attr-defined]


def test_data_that_is_not_there_names_the_setting(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"data\.path="):
        prepare({"data": {"source": "episodes", "path": str(tmp_path)}}, tmp_path)
    with pytest.raises(ConfigError, match=r"data\.source='csv'"):
        prepare({"data": {"source": "csv"}}, tmp_path)


def test_only_the_tasks_asked_for_become_rows(settings: dict[str, Any], env: dict[str, Any]) -> None:
    folder = collect(settings, env, entry("agent/lci.yaml"), 0)
    collect({**settings, "limit": 3}, env, entry("agent/lci.yaml"), 0)
    assert json.loads((folder / "filters.json").read_text())["total"] == 3


def test_a_folder_of_other_settings_is_refused(settings: dict[str, Any], env: dict[str, Any]) -> None:
    agent = entry("agent/lci.yaml")
    collect({**settings, "limit": 2}, env, agent, 0)
    with pytest.raises(ConfigError, match=r"other settings of agent\.locate, env\.undated"):
        collect(settings, {**env, "undated": "drop"}, {**agent, "locate": False}, 0)


def test_limits_and_damaged_recipes_are_refused(settings: dict[str, Any], env: dict[str, Any]) -> None:
    agent = entry("agent/lci.yaml")
    with pytest.raises(ConfigError, match="limit=0 must be a whole number"):
        collect({**settings, "limit": 0}, env, agent, 0)
    collect({**settings, "limit": 2}, env, agent, 0)
    (Path(settings["folder"]) / "recipe.json").write_text("{")
    with pytest.raises(ConfigError, match=r"recipe\.json is damaged"):
        collect(settings, env, agent, 0)


def test_a_run_that_failed_before_its_first_episode_does_not_bind_the_folder(
    settings: dict[str, Any], env: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match=r"no\.such\.Policy"):
        collect(settings, env, {"_target_": "no.such.Policy", "name": "typo"}, 0)
    assert collect({**settings, "limit": 2}, env, entry("agent/lci.yaml"), 0) == Path(settings["folder"])
