"""What every connection has to keep to: sizes, silence, and where a browser may come from.

OpenEnv frees a session's place when its socket closes; this closes sockets whose client says nothing, or takes nothing, for too
long. It knows nothing of sessions. The socket itself of a client that takes nothing may stay until its machine gives up.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

MAX_BYTES = 1_048_576
"""Of a request or a message; the longest action that is read, escaped, is well below."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_IDLE, _LOST = 1001, 1006


class Guard:
    """An ASGI middleware.

    Args:
        app: What it stands in front of.
        idle_timeout_s: Seconds a client may be silent while nothing of its own is being worked on.
    """

    def __init__(self, app: App, idle_timeout_s: float) -> None:
        self.app = app
        self.idle_timeout_s = idle_timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one connection."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _foreign(scope):
            return await _refuse(send, 403, "pages of other origins may not use this server")
        body = b""
        try:
            async with asyncio.timeout(self.idle_timeout_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    if len(body) > MAX_BYTES:
                        return await _refuse(send, 413, f"a request may have {MAX_BYTES:,} bytes")
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            return await _refuse(send, 408, "the request did not come to an end")
        whole: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> MutableMapping[str, Any]:
            return whole.pop() if whole else await receive()

        return await self.app(scope, replay, send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _foreign(scope):
            await receive()
            return await send({"type": "websocket.close", "code": 1008})

        gone = False

        async def heard() -> MutableMapping[str, Any]:
            if gone:
                return {"type": "websocket.disconnect", "code": _LOST}
            try:
                async with asyncio.timeout(self.idle_timeout_s):
                    message = await receive()
            except TimeoutError:
                reason = f"nothing was sent for {self.idle_timeout_s:g} s"
                await taken({"type": "websocket.close", "code": _IDLE, "reason": reason})
                return {"type": "websocket.disconnect", "code": _IDLE, "reason": reason}
            return _object(message) if message["type"] == "websocket.receive" else message

        async def taken(message: MutableMapping[str, Any]) -> None:
            nonlocal gone
            if gone:
                return
            try:
                async with asyncio.timeout(self.idle_timeout_s):
                    await send(message)
            except OSError:
                # Timeouts are such errors, too. Raised, OpenEnv would try to tell the client, and fail again.
                gone = True

        return await self.app(scope, heard, taken)


def _object(message: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Puts what cannot be a JSON object into words that OpenEnv answers without ending the session."""
    text = message.get("text")
    if text is None:
        text = message["bytes"].decode("utf-8", "replace")
    if not text.lstrip().startswith("{"):
        text = json.dumps({"type": "(a message is a JSON object)"})
    return {"type": "websocket.receive", "text": text}


def _foreign(scope: Scope) -> bool:
    """Whether a page of another origin asks: a browser would let any page use a server of the local machine."""
    headers = dict(scope["headers"])
    origin = headers.get(b"origin")
    return origin is not None and urlsplit(origin.decode("latin-1")).netloc != headers.get(b"host", b"").decode("latin-1")


async def _refuse(send: Send, status: int, detail: str) -> None:
    body = json.dumps({"detail": detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
