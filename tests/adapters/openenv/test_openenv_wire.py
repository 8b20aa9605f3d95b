"""What is on the wire: nothing hidden, no tool called reset or step, and a clear word for every bad request."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.adapters.openenv.serving import Served, ask, raw, run, served
from tests.fakes import LATE, SECRETS, FakeProvider, answer, call, image_hits, make_env, pages, tasks
from wildenv.adapters.openenv.guard import MAX_BYTES
from wildenv.env import WildEnv
from wildenv.errors import UsageError
from wildenv.task import TaskList
from wildenv.web.client import WebClient

pytestmark = pytest.mark.loopback

ROOT = Path(__file__).parents[3]
TOOLS = ["text_search", "web_fetch", "image_search", "crop_image", "answer"]
SOURCE = "/srv/private/tasks.jsonl"
ACTIONS: tuple[Any, ...] = (
    call("text_search", queries=["lantern", "fans"]),
    call("image_search", query="lantern"),
    call("web_fetch", url="https://lantern.example/launch", prompt="colours"),
    call("web_fetch", url="https://lantern.example/later", prompt="colours"),
    call("reset"),
    "no call",
    answer("IMG_099"),
    answer("IMG_001"),
)
CUTOFF = tasks()[0].cutoff.isoformat()
HIDDEN = (
    *SECRETS,
    tasks()[0].ground_truth[0],
    LATE,
    CUTOFF,
    "cutoff",
    "Traceback",
    'File "',
    "site-packages",
    "/srv/",
    str(ROOT),
)


def _env() -> WildEnv:
    """An environment in which no page or picture is of the cutoff day, so that the day itself can be looked for."""
    found = [page for page in pages() if page.published != CUTOFF]
    pictures = [pair for pair in image_hits() if pair[0].published != CUTOFF]
    source = TaskList(tasks(), name=SOURCE)
    return make_env(web=WebClient(FakeProvider(found, pictures), mode="live"), tasks=source)


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(_env, split="lamps") as one:
        yield one


def _hidden(said: str) -> list[str]:
    return [word for word in HIDDEN if word.lower() in said.lower()]


def test_nothing_hidden_is_in_any_reply(server: Served) -> None:
    async def session() -> list[str]:
        heard = []
        async with await raw(server) as one:
            sent: list[dict[str, Any]] = [{"type": "state"}, {"type": "step", "data": {"message": "x"}}]
            sent += [
                {"type": "reset", "data": data}
                for data in ({"task_id": "nobody"}, {"seed": -1}, {"task_id": "task-0", "seed": 5})
            ]
            sent += [{"type": kind, "data": {"message": action}} for action in ACTIONS for kind in ("step", "state")]
            sent += [{"type": "step", "data": {"message": "x"}}]
            for message in sent:
                await one.send(json.dumps(message if message["type"] != "state" else {"type": "state"}))
                heard.append(str(await one.recv()))
        return heard

    replies = run(session())
    paths = ("state", "schema", "metadata", "health", "openapi.json", "list_environments", "wildenv/splits")
    replies += [server.get(f"/{path}").text for path in paths]
    bodies: dict[str, Any] = {
        "reset": {"task_id": "task-0"},
        "step": {"action": {"message": "x"}},
        "mcp": {},
        "wildenv/tasks": {"split": "lamps"},
        "wildenv/num_tasks": {"split": "lamps"},
        "wildenv/task": {"split": "lamps", "index": 0},
        "wildenv/task_range": {"split": "lamps"},
    }
    answers = {path: server.post(f"/{path}", json=body) for path, body in bodies.items()}
    replies += [reply.text for reply in answers.values()]
    assert {reply: _hidden(reply) for reply in replies if _hidden(reply)} == {}
    # The words would be found if they were there, and everything was played.
    env = _env()
    env.reset(seed=5, options={"task_id": "task-0"})
    for action in ACTIONS:
        env.step(action)
    assert _hidden(json.dumps(env.episode.verdicts)), "the verdict names the target"
    assert any(env.episode.digest() in reply for reply in replies)
    assert [answers[path].status_code for path in bodies] == [200, 400, *[200] * 5]
    assert answers["wildenv/num_tasks"].json() == {"num_tasks": 3}
    assert answers["wildenv/task"].json()["task"] == tasks()[0].public()


def test_a_model_is_shown_the_tools_and_no_other(server: Served) -> None:
    async def session() -> dict[str, Any]:
        async with await raw(server) as one:
            first = await ask(one, "reset", {"seed": 0})
            second = await ask(one, "step", {"message": call("step", action="x")})
            listed = await ask(one, "mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
            state = await ask(one, "state")
        return {"first": first, "second": second, "listed": listed, "state": state}

    said = run(session())
    for schemas in (said["first"]["data"]["observation"]["tools"], said["state"]["data"]["tools"]):
        assert [schema["function"]["name"] for schema in schemas] == TOOLS
    assert said["second"]["data"]["observation"]["tools"] == []
    assert "there is no tool 'step'" in said["second"]["data"]["observation"]["text"]
    assert "result" not in said["listed"]["data"]
    assert "does not support MCP" in said["listed"]["data"]["error"]["message"]


@pytest.mark.parametrize("method", ["tools/list", "tools/call", "openenv/session/create", "initialize"])
def test_mcp_offers_nothing_and_takes_no_place(server: Served, method: str) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"name": "reset", "arguments": {}}}

    async def session() -> str:
        async with connect(f"{server.socket_url[:-2]}mcp", proxy=None) as one:
            return str(await one.recv())

    for reply in (server.post("/mcp", json=request).json(), json.loads(run(session()))):
        assert "result" not in reply
        assert "no MCP tools" in reply["error"]["message"]
    server.free()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ("[1]", "a message is a JSON object"),
        (b"\xff\x00", "a message is a JSON object"),
        ("{", "Invalid JSON"),
        ('{"type": "jump"}', "Unknown message type: jump"),
        ('{"type": "step", "data": {}}', "Invalid message"),
        ('{"type": "step", "data": {"message": "x", "tool": 1}}', "Invalid message"),
        ('{"type": "step", "data": {"message": "x"}}', "call reset before step"),
        ('{"type": "reset", "data": {"task": "task-0"}}', "reset has no argument 'task'"),
        ('{"type": "reset", "data": {"seed": "5"}}', "seed must be a whole number"),
        ('{"type": "reset", "data": {"index": 3}}', "index 3: there are 3 tasks"),
        ('{"type": "reset", "data": {"index": 0, "split": "x"}}', "there is no split 'x'; the tasks served are called 'lamps'"),
        ('{"type": "reset", "data": {"index": 0, "task_id": "task-0"}}', "give task_id or index, not both"),
        ('{"type": "reset", "data": {"task_id": 5}}', "task_id must be a string"),
        ('{"type": "reset", "data": {"task_id": "nobody"}}', "there is no task 'nobody'; POST /wildenv/tasks"),
    ],
)
def test_a_bad_message_is_told_so_and_the_session_goes_on(server: Served, sent: str | bytes, said: str) -> None:
    async def session() -> tuple[dict[str, Any], dict[str, Any]]:
        async with await raw(server) as one:
            await one.send(sent)
            return json.loads(await one.recv()), await ask(one, "reset", {"seed": 0})

    reply, after = run(session())
    assert reply["type"] == "error"
    assert said in json.dumps(reply["data"])
    assert after["type"] == "observation"


def test_a_bug_of_the_server_stays_there() -> None:
    def broken() -> WildEnv:
        env = _env()

        def step(action: Any) -> Any:
            raise KeyError("/srv/private/place")

        env.step = step  # type: ignore[method-assign]
        return env

    async def session(one: Served) -> dict[str, Any]:
        async with await raw(one) as connection:
            await ask(connection, "reset", {"seed": 0})
            return await ask(connection, "step", {"message": "x"})

    with served(broken) as one:
        reply = run(session(one))
    assert reply["data"]["message"] == "the server failed; its log says why"


def test_requests_are_limited(server: Served) -> None:
    async def session() -> int:
        async with await raw(server) as one:
            await one.send(json.dumps({"type": "step", "data": {"message": "x" * MAX_BYTES}}))
            with pytest.raises(ConnectionClosed) as closed:
                await one.recv()
            assert closed.value.rcvd is not None
            return closed.value.rcvd.code

    assert run(session()) == 1009
    assert server.post("/reset", content=b"x" * (MAX_BYTES + 1)).status_code == 413
    assert server.post("/reset", content=(b"x" * 65_536 for _ in range(17))).status_code == 413
    assert server.post("/reset", content=b"{").status_code == 422
    server.free()


def test_pages_of_other_origins_are_refused(server: Served) -> None:
    async def session(origin: str) -> None:
        async with connect(server.socket_url, proxy=None, origin=origin):  # type: ignore[arg-type] # a NewType of str
            pass

    assert server.post("/reset", json={}, headers={"origin": "https://evil.example"}).status_code == 403
    with pytest.raises(InvalidStatus, match="403"):
        run(session("https://evil.example"))
    run(session(server.url))
    assert server.post("/reset", json={}, headers={"origin": server.url}).status_code == 200


def test_the_client_passes_refusals_on(server: Served) -> None:
    from wildenv.adapters.openenv.client import WildClient

    with WildClient(server.url).sync() as client, pytest.raises(UsageError, match="there is no task 'nobody'"):
        client.reset(task_id="nobody")


def test_openenv_finds_nothing_wrong(server: Served) -> None:
    from openenv.cli._validation import validate_running_environment
    from openenv.validation import Level, Verdict, run_validation

    report = validate_running_environment(server.url)
    assert report["passed"], report
    package = ROOT / "wildenv" / "adapters" / "openenv"
    assert run_validation(package, max_level=Level.STATIC, skip_build=True).verdict is Verdict.PASS


def test_nothing_heavy_is_loaded_before_it_is_used() -> None:
    code = (
        "import sys, wildenv, wildenv.adapters.openenv\n"
        "from wildenv.cli.main import make_parser\n"
        "make_parser()\n"
        "print(sorted({'openenv', 'fastapi', 'uvicorn', 'gradio', 'fastmcp', 'pydantic', 'websockets'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout == "[]\n"


def test_a_missing_package_is_named() -> None:
    code = (
        "import sys\nsys.modules['openenv'] = None\nfrom wildenv.cli.main import main\nsys.exit(main(['serve', '--port', '0']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "wildenv: serving the environment, and playing a served one, needs: pip install -e '.[openenv]'\n",
    )
