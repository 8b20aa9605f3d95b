"""The application that serves sessions, and a way to run it.

A session is a WebSocket connection to ``/ws``; each has an environment and a thread of its own, and its place is free again when
the connection ends. ``/mcp`` offers no tools: a model gets the schemas of a reset, from whoever plays it, and nothing here lists
reset or step as tools. Requests to ``/reset`` and ``/step`` over HTTP are OpenEnv's, which keeps no session between two of them.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, WebSocket
from fastapi.responses import JSONResponse
from openenv.core.env_server.http_server import HTTPEnvServer
from openenv.core.env_server.types import ServerMode

from wildenv.adapters.openenv.environment import NAME, WildSession
from wildenv.adapters.openenv.guard import MAX_BYTES, Guard
from wildenv.adapters.openenv.models import WildAction, WildObservation, WildState
from wildenv.construct import is_number
from wildenv.env import WildEnv
from wildenv.errors import ConfigError, WildenvError
from wildenv.registration import ORACLE, make_env, make_reader, make_reward, make_tasks, make_web

LOCAL = "127.0.0.1"
_PING_S = 20.0
_NO_TOOLS = {
    "jsonrpc": "2.0",
    "error": {"code": -32601, "message": "there are no MCP tools here; play a session at /ws"},
    "id": None,
}


def shared_env(tasks: str, web: Any, env: Mapping[str, Any] | None = None) -> Callable[[], WildEnv]:
    """Returns a maker of environments that share what may be large or counts requests: tasks, web, reward, reader.

    Args:
        tasks: See `wildenv.registration.make_tasks`.
        web: See `wildenv.registration.make_web`.
        env: The other arguments of `wildenv.registration.make_env`.

    Raises:
        ConfigError: Naming the setting that is wrong.
    """
    given = dict(env or {})
    world, limits = given.get("world"), given.get("limits")
    made = {
        "tasks": make_tasks(tasks, world),
        "web": make_web(web, world, given.get("undated", "keep")),
        "reward": make_reward(given.get("reward", ORACLE), tasks, world, limits),
        "reader": make_reader(given.get("reader")),
    }
    maker = partial(make_env, **{**given, **made})
    # What is wrong with the other arguments is said now, not to the first client.
    maker()
    return maker


def create_app(
    make_env: Callable[[], WildEnv], *, max_sessions: int = 64, idle_timeout_s: float = 600.0, split: str = "test"
) -> FastAPI:
    """Returns the ASGI application.

    Args:
        make_env: Makes the environment of a session; see `shared_env`.
        max_sessions: Sessions at once; one more is refused.
        idle_timeout_s: Seconds a client may say nothing, or take nothing, before its session ends. The time its own turn is
            being worked on does not count.
        split: What the tasks are called in OpenEnv's task API.

    Raises:
        ConfigError: If a number is out of range.
    """
    if not is_number(max_sessions, whole=True) or max_sessions < 1:
        raise ConfigError(f"max_sessions={max_sessions!r} must be a whole number of at least 1")
    if not is_number(idle_timeout_s) or not idle_timeout_s > 0:
        raise ConfigError(f"idle_timeout_s={idle_timeout_s!r} must be a number of seconds above 0")
    app = FastAPI(
        title=NAME,
        version="1.0.0",
        description="An environment of wildenv over the OpenEnv protocol; sessions are WebSockets at /ws.",
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(Guard, idle_timeout_s=idle_timeout_s)
    app.add_exception_handler(WildenvError, _refused)
    # Before OpenEnv's own routes of these names, whose sessions nothing ends but a request that may never come.
    app.add_api_route("/mcp", _no_tools, methods=["POST"])
    app.add_api_websocket_route("/mcp", _no_tool_socket)

    def session() -> WildSession:
        return WildSession(make_env, split)

    # Its own idle timeout would count the time of a long step, and leave the socket open.
    server = HTTPEnvServer(
        session, WildAction, WildObservation, max_concurrent_envs=max_sessions, env_name=NAME, state_cls=WildState
    )
    server.register_routes(app, ServerMode.SIMULATION)
    app.state.sessions = server
    return app


def server_config(app: FastAPI, **settings: Any) -> uvicorn.Config:
    """Returns how uvicorn runs the application: sizes limited, dead connections found."""
    return uvicorn.Config(
        app,
        ws="websockets-sansio",
        ws_max_size=MAX_BYTES,
        ws_ping_interval=_PING_S,
        ws_ping_timeout=_PING_S,
        # Pictures do not get smaller by it.
        ws_per_message_deflate=False,
        log_level="warning",
        timeout_graceful_shutdown=5,
        server_header=False,
        **settings,
    )


def serve(app: FastAPI, host: str = LOCAL, port: int = 8000, ready: Callable[[str], None] | None = None) -> None:
    """Serves until it is interrupted.

    Args:
        app: See `create_app`.
        host: Address to listen on. Whoever reaches it may play.
        port: Port to listen on; 0 takes a free one.
        ready: Called with the address once clients can connect to it.

    Raises:
        ConfigError: If the address cannot be listened on.
    """
    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=512)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"port={port}: cannot listen on {host} ({error}); name another port or host") from error
    with closing(listening):
        if ready is not None:
            name = f"[{host}]" if ":" in host else host
            ready(f"http://{name}:{listening.getsockname()[1]}")
        uvicorn.Server(server_config(app)).run(sockets=[listening])


async def _refused(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, status_code=400)


async def _no_tools() -> JSONResponse:
    return JSONResponse(_NO_TOOLS)


async def _no_tool_socket(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_json(_NO_TOOLS)
    await websocket.close()
