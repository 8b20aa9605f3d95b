"""Whether web, judge, generator and readers answer, each asked once and briefly.

What is embedded (miniweb, oracle, compositor) is really asked. A paid service is asked for the least there is: one search, one
short reply, a list of models. Nothing is drawn by a service, and no weights are loaded to ask a model in this process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
from PIL import Image

from agents.checkpoint import is_local
from agents.rewarder import open_reward
from trainers.checks.finding import Finding, Spared, Status, Unknown
from trainers.checks.subject import GRPO, Subject
from wildenv.aio import run_sync
from wildenv.errors import ConfigError, ToolError, WebError, WildenvError
from wildenv.generators.settings import make_generator
from wildenv.images import ImageStore
from wildenv.judges.base import Reference, Submission
from wildenv.messages import image_block, text_block
from wildenv.models.chat import NAMESPACE as CHATS
from wildenv.models.chat import ChatModel
from wildenv.models.reply import ReplyError
from wildenv.registration import make_web
from wildenv.rewards.base import Reward, checked_report
from wildenv.rewards.combined import CombinedReward
from wildenv.secrets import secret_from_env
from wildenv.task import Task
from wildenv.web.client import WebClient
from wildenv.web.deadline import tool_deadline
from wildenv.web.packs.hub import pack_from
from wildenv.web.packs.pack import open_recorded
from wildenv.web.request import WEB_TOOLS
from wildenv.web.store import Store

WEB, REWARD, JUDGE, GENERATOR, READER, AGENT = "web", "reward", "judge", "generator", "page reader", "agent's model"
_PATIENCE_S = 10.0
_QUERY_CHARS = 100
_EMBEDDED = "miniweb"


def web(subject: Subject) -> Iterator[Finding]:
    """Whether the recording opens and holds something, or whoever searches answers one search."""
    subject.must_play()
    settings = _web(subject)
    if settings["mode"] == "replay":
        make_web(settings, subject.env.get("world"), subject.env.get("undated", "keep"))
        path = str(settings["store"])
        with open_recorded(pack_from(path) if path.startswith("hf://") else Path(path)) as store:
            counts = {tool: count for tool, count in store.counts().items() if tool in WEB_TOOLS}
        if not sum(counts.values()):
            raise ConfigError(f"web.store={path} holds no record of a web; name another pack or store in web.store")
        yield Finding(WEB, Status.PASSED, "replays " + ", ".join(f"{count} {tool}" for tool, count in counts.items()))
        return
    if settings.get("store") is not None:
        _writable(Path(settings["store"]).absolute().parent, f"web.store={settings['store']}", "web.store")
    task = subject.tasks[0]
    client = _live(subject)
    query = task.prompt[:_QUERY_CHARS]
    try:
        with tool_deadline(_PATIENCE_S):
            hits = client.text_search(query, 1, task.cutoff).results
    except (WebError, ToolError) as error:
        raise ConfigError(f"web: a search failed ({error}); change web.search, or use web=replay or web=miniweb") from error
    if not hits:
        yield Finding(WEB, Status.WARNING, f"{settings['search']} answers, and finds nothing for the request of task {task.id}")
        return
    yield Finding(WEB, Status.PASSED, f"{_named(settings['search'])} answered a search")


def reward(subject: Subject) -> Iterator[Finding]:
    """Whether the reward can be made; with an embedded web and judge, also whether it scores an answer."""
    subject.must_play()
    if subject.env["reward"] is None and subject.kind != GRPO:
        raise Spared("env.reward is null: episodes are not scored")
    made = _reward(subject)
    if made is None:
        raise ConfigError("env.reward is null: there is nothing to learn from; choose reward=dual or another of conf/reward")
    shown, embedded = type(made).__name__, _web(subject).get("search") == _EMBEDDED
    if isinstance(made, CombinedReward):
        shown = ", ".join(component.name for component in made.components)
        embedded = embedded and _kind(subject.reward_fields["judge"]) == "oracle"
    if not embedded:
        yield Finding(REWARD, Status.PASSED, f"{shown}; not tried as a whole, its services are asked one by one")
        return
    task, submission = _answer(subject)
    checked_report(run_sync(made.score(task, None)))
    report = checked_report(run_sync(made.score(task, submission)))
    if not report.valid:
        unscored = "; ".join(verdict.reason for verdict in report.verdicts if verdict.unscored)
        raise ConfigError(f"reward: an answer with one reference was not scored ({unscored}); change judge or generator")
    yield Finding(REWARD, Status.PASSED, f"{shown}: an answer with one reference was scored {report.value:.2f}")


def judge(subject: Subject) -> Iterator[Finding]:
    """Whether the judge answers."""
    subject.must_play()
    settings = subject.reward_fields["judge"]
    match _kind(settings):
        case "oracle":
            names = [component.name for component in _components(subject)]
            yield Finding(JUDGE, Status.PASSED, f"the oracle judges {', '.join(names)}; asked with the reward")
        case "model":
            if settings["model"].get("mode") == "replay":
                _replayed(settings["store"], CHATS, "judge.store", "judge.model.mode=record")
                yield Finding(JUDGE, Status.PASSED, f"replays {settings['store']}")
            else:
                yield Finding(JUDGE, Status.PASSED, _chat(settings["model"], "judge.model", picture=True))
        case "local":
            path = settings["model"]["path"]
            _folder(path, "judge.model.path")
            yield Finding(JUDGE, Status.NOT_CHECKED, f"{path} would have to be loaded to be asked")
        case other:
            raise ConfigError(f"judge.kind={other!r} is not one of oracle, model, local; set judge=oracle")


def generator(subject: Subject) -> Iterator[Finding]:
    """Whether the generator draws, or its service can be reached."""
    subject.must_play()
    settings = subject.reward_fields["generator"]
    kind = _kind(settings)
    if not any(component.needs_picture for component in _components(subject)):
        raise Spared("no component of the reward judges a drawn picture")
    made = make_generator(settings)
    if made is None:
        raise ConfigError("reward.components judge a drawn picture and nothing draws; set generator=compositor")
    if isinstance(settings, Mapping) and settings.get("replay"):
        _replayed(settings["store"], "drawn", "generator.store", "generator.replay=false")
        yield Finding(GENERATOR, Status.PASSED, f"replays {settings['store']}")
    elif kind == "compositor":
        drawn = run_sync(made.generate("a lantern on a table", [Image.new("RGB", (64, 64), "teal")], 0))
        yield Finding(GENERATOR, Status.PASSED, f"drew a picture of {drawn.width}x{drawn.height}")
    elif kind in ("openai", "qwen_edit"):
        yield Finding(GENERATOR, Status.PASSED, _service(settings, kind))
    elif kind == "diffusers":
        if find_spec("diffusers") is None:
            raise ConfigError("generator.kind=diffusers needs a package; run pip install 'wildenv[draw]', or change generator")
        _folder(settings["path"], "generator.path")
        yield Finding(GENERATOR, Status.NOT_CHECKED, f"{settings['path']} would have to be loaded to draw")
    else:
        yield Finding(GENERATOR, Status.NOT_CHECKED, f"{kind} is a class of your own; it could be made and was not asked to draw")


def reader(subject: Subject) -> Iterator[Finding]:
    """Whether the model that reads pages answers."""
    subject.must_play()
    settings = subject.env.get("reader")
    if settings is None:
        raise Spared("env.reader is null: pages are read without a model")
    yield Finding(READER, Status.PASSED, _chat({k: v for k, v in settings.items() if k != "max_chars"}, "env.reader"))


def agent(subject: Subject) -> Iterator[Finding]:
    """Whether the model that collects trajectories answers."""
    subject.must_play()
    settings = subject.config["agent"].get("model") if "agent" in subject.config else None
    if not isinstance(settings, Mapping) or "base_url" not in settings:
        raise Spared("no endpoint plays the episodes")
    if settings.get("mode") == "replay":
        _replayed(settings["store"], CHATS, "agent.model.store", "agent.model.mode=record")
        yield Finding(AGENT, Status.PASSED, f"replays {settings['store']}")
        return
    yield Finding(AGENT, Status.PASSED, _chat({k: v for k, v in settings.items() if k != "_target_"}, "agent.model"))


def _web(subject: Subject) -> dict[str, Any]:
    settings = subject.env["web"]
    if not isinstance(settings, str):
        return dict(settings)
    if settings == _EMBEDDED:
        return {"mode": "live", "search": _EMBEDDED, "pages": _EMBEDDED, "pictures": _EMBEDDED}
    return {"mode": "replay", "store": settings}


def _live(subject: Subject) -> WebClient:
    """Returns a web that asks and keeps nothing: a probe is no part of a recording."""
    values = {**_web(subject), "mode": "live", "store": None}
    return make_web(values, subject.env.get("world"), subject.env.get("undated", "keep"))


def _reward(subject: Subject) -> Reward | None:
    """Returns the reward of the run, keeping nothing: what is asked here is no part of a recording."""
    given = subject.env["reward"]
    if isinstance(given, Mapping) and "_target_" not in given:
        given = {**given, **{part: _storeless(given[part]) for part in ("judge", "generator") if part in given}}
    env = {"world": subject.env.get("world"), "limits": subject.env.get("limits"), "reward": given}
    return open_reward(env, subject.task_settings["tasks"])


def _components(subject: Subject) -> list[Any]:
    try:
        made = _reward(subject)
    except WildenvError as error:
        raise Unknown("the reward cannot be made") from error
    assert isinstance(made, CombinedReward)
    return made.components


def _storeless(settings: Any) -> Any:
    if not isinstance(settings, Mapping) or "store" not in settings:
        return settings
    plain = {**settings, "store": None, **({"replay": False} if "replay" in settings else {})}
    if isinstance(plain.get("model"), Mapping) and "mode" in plain["model"]:
        plain["model"] = {**plain["model"], "mode": None}
    return plain


def _answer(subject: Subject) -> tuple[Task, Submission]:
    """Finds a picture for the first task, and answers with it."""
    task, client, store = subject.tasks[0], _live(subject), ImageStore()
    hits = client.image_search(task.prompt[:_QUERY_CHARS], 1, task.cutoff).results
    if not hits:
        raise Unknown(f"the web has no picture for the request of task {task.id}")
    digest = store.put(client.fetch_image(hits[0].url))
    return task, Submission(task.prompt, (Reference("IMG_001", digest, digest, hits[0].url),), store)


def _chat(settings: Mapping[str, Any], setting: str, picture: bool = False) -> str:
    """Asks an endpoint for a word, with a small picture if it is to look at pictures; returns what came of it."""
    patience = min(_PATIENCE_S, float(settings.get("timeout_s", _PATIENCE_S)))
    # One attempt: a service that is down is not to be waited for.
    rules = {**(settings.get("rules") or {}), "attempts": 1}
    plain = {key: value for key, value in settings.items() if key not in ("store", "mode")}
    asked = {**plain, "timeout_s": patience, "rules": rules}
    store = ImageStore()
    content = [text_block("Reply with the single word ready.")]
    if picture:
        content.append(image_block("IMG_001", store.put(Image.new("RGB", (56, 56), "teal"))))
    with ChatModel.from_config(asked, setting=setting) as model:
        try:
            model.complete_sync([{"role": "user", "content": content}], images=store)
        except ReplyError as error:
            return f"{settings['model']} at {settings['base_url']} answers (with a reply that was {error.kind})"
        except WildenvError as error:
            raise ConfigError(
                f"{setting}: {settings['model']} at {settings['base_url']} does not answer ({error}); change "
                f"{setting}.base_url or {setting}.model"
            ) from error
    return f"{settings['model']} at {settings['base_url']} answered" + (", shown a picture" if picture else "")


def _service(settings: Mapping[str, Any], kind: str) -> str:
    """Sees whether a drawing service can be reached, without having it draw."""
    url = str(settings["base_url"]).rstrip("/")
    variable = settings.get("api_key_env")
    headers = {}
    if variable is not None:
        headers["Authorization"] = f"Bearer {secret_from_env(variable, 'generator.api_key_env').reveal()}"
    try:
        status = httpx.get(f"{url}/models" if kind == "openai" else url, headers=headers, timeout=_PATIENCE_S).status_code
    except httpx.HTTPError as error:
        raise ConfigError(f"nothing answers at generator.base_url={url} ({type(error).__name__}); start or change it") from error
    if status in (401, 403):
        raise ConfigError(f"{url} refuses the key (status {status}); change the variable that generator.api_key_env names")
    return f"{url} answers (status {status}); it was not asked to draw"


def _replayed(path: str | None, namespace: str, setting: str, instead: str) -> None:
    if path is None or not Path(path).is_file():
        raise ConfigError(f"{setting}={path} does not exist; record it first with {instead}")
    with Store(path, read_only=True) as store:
        if not store.counts().get(namespace):
            raise ConfigError(f"{setting}={path} holds nothing to replay; name another file, or set {instead}")


def _folder(path: str, setting: str) -> None:
    if path.count("/") != 1 and not is_local(path):
        raise ConfigError(f"{setting}={path} is no folder; set {setting} to a checkpoint")


def _writable(folder: Path, what: str, setting: str) -> None:
    place = next(path for path in (folder, *folder.parents) if path.exists())
    if not (place.is_dir() and os.access(place, os.W_OK)):
        raise ConfigError(f"{what} cannot be written: {place} is not writable; change {setting}")


def _kind(settings: Any) -> str:
    return str(settings.get("kind") if isinstance(settings, Mapping) else settings)


def _named(search: Any) -> str:
    return str(search["name"] if isinstance(search, Mapping) else search)
