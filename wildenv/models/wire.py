"""The connection to one OpenAI-compatible endpoint: one request, one answer, in bounded time.

The ``openai`` package speaks; its own retries are off. All threads share one event loop, in a thread of its own, so that
connections are kept and a request that takes too long is cancelled, however slowly the endpoint drips. Each process has its own;
nothing is shared across a fork. Redirects are not followed: they could carry the chat and secret headers elsewhere. How large an
answer may be is not limited: the endpoint is one the user chose.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
import weakref
from collections.abc import Coroutine, Mapping
from concurrent.futures import CancelledError
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from wildenv.errors import ConfigError, ProviderError, UsageError
from wildenv.models.reply import ReplyError
from wildenv.secrets import scrub, secret_from_env
from wildenv.web.net.manners import TryAgain, retry_after_seconds

T = TypeVar("T")

_GRACE_S = 5.0
"""How much longer than the loop the caller waits: only a loop that no longer runs needs it."""

_DETAIL = 300

_HOLDS_SECRET = re.compile(r"auth|key|token|cookie|secret|password", re.IGNORECASE)
"""Found in the names of headers whose values must not stand in a config."""


class Line(Protocol):
    """Carries requests to a model: `Wire` over HTTP, `wildenv.models.local.LocalLine` within the process."""

    base_url: str

    def send(self, body: Mapping[str, Any], limit_s: float) -> str:
        """Returns the answer to a chat completion request; see `Wire.send`."""
        ...

    def close(self) -> None:
        """Frees what it holds; a later request opens it again."""
        ...


class Wire:
    """One endpoint. Implements `Line`; safe for threads.

    Args:
        base_url: Such as ``http://127.0.0.1:8000/v1``.
        api_key_env: Name of the environment variable that holds the key; None for an endpoint without one.
        headers: Sent with every request.
        setting: Where the model's settings are, for messages.
        headers_env: Further headers: the name of the environment variable that holds the value of each.

    Raises:
        ConfigError: If the address is none, or a header that holds a secret has its value in the settings.
    """

    def __init__(
        self,
        base_url: str,
        api_key_env: str | None,
        headers: Mapping[str, str],
        setting: str,
        headers_env: Mapping[str, str] | None = None,
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"{setting}.base_url={base_url!r} is not an address such as http://127.0.0.1:8000/v1")
        if "@" in parts.netloc:
            raise ConfigError(
                f"{setting}.base_url holds a password; name an environment variable in {setting}.api_key_env instead"
            )
        secret = [name for name in headers if _HOLDS_SECRET.search(name)]
        if secret:
            raise ConfigError(
                f"{setting}.headers.{secret[0]} would be written to disk with the other settings; name the environment variable "
                f"that holds it in {setting}.headers_env.{secret[0]}"
            )
        self.base_url = base_url
        self._api_key_env = api_key_env
        self._headers = dict(headers)
        self._headers_env = dict(headers_env or {})
        self._setting = setting
        self._lock = threading.Lock()
        self._line: _Line | None = None

    def send(self, body: Mapping[str, Any], limit_s: float) -> str:
        """Sends a chat completion request.

        Args:
            body: Of the request.
            limit_s: Seconds until the whole answer has to be there.

        Returns:
            The body of the answer, with secrets replaced.

        Raises:
            TimeoutError: If it is not.
            TryAgain: If the endpoint is busy, broken or not reachable.
            ProviderError: If it refuses for a reason that stays.
            ReplyError: If it refuses because of what is in the chat.
        """
        line = self._opened()
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        try:
            data = line.wait(_ask(line.client, body, limit_s), limit_s + _GRACE_S)
        except CancelledError:
            raise UsageError(f"{self._setting}: the model was closed while a request was under way") from None
        except APITimeoutError:
            raise TimeoutError from None
        except APIConnectionError as error:
            reason = str(error.__cause__ or error)
            failure = self._failure("connection", f"cannot be reached ({reason}); is {self._setting}.base_url right?")
            raise TryAgain("connection", None, failure) from None
        except APIStatusError as error:
            # Without its cause: the package's exception holds what the endpoint said, which may be the key.
            raise self._refused(
                error.status_code, error.response.headers.get("retry-after"), error.body, error.response.text
            ) from None
        try:
            return scrub(data.decode())
        except UnicodeDecodeError:
            raise TryAgain("bad reply", None, self._failure("bad reply", "sent bytes that are not text")) from None

    def close(self) -> None:
        """Closes the connections; a request under way fails. A later request opens them again."""
        with self._lock:
            if self._line is not None:
                self._line.close()
                self._line = None

    def _opened(self) -> _Line:
        with self._lock:
            if self._line is None or self._line.pid != os.getpid():
                self._line = _Line(self._client_arguments())
                weakref.finalize(self, self._line.close)
            return self._line

    def _client_arguments(self) -> dict[str, Any]:
        name = self._api_key_env
        key = "none" if name is None else secret_from_env(name, f"{self._setting}.api_key_env").reveal()
        hidden = {
            header: secret_from_env(variable, f"{self._setting}.headers_env.{header}").reveal()
            for header, variable in self._headers_env.items()
        }
        return {"base_url": self.base_url, "api_key": key, "default_headers": {**self._headers, **hidden}, "max_retries": 0}

    def _failure(self, kind: str, what: str) -> ProviderError:
        return ProviderError(scrub(f"{self._setting}: the endpoint {self.base_url} {what}"), kind)

    def _refused(self, status: int, retry_after: str | None, body: object, text: str) -> Exception:
        """Returns what to raise for an HTTP status that is an error."""
        row = body if isinstance(body, Mapping) else {}
        said = scrub(" ".join(str(row.get("message") or text).split()))[:_DETAIL]
        code = f"{row.get('code')} {row.get('type')}"
        if "content_filter" in code or "content_policy" in code:
            return ReplyError(f"the endpoint's content filter refused the chat: {said}", "content filter", said)
        if "insufficient_quota" in code:
            return self._failure("quota", f"says that the account's quota is used up: {said}")
        if "context_length" in code:
            return self._failure("context length", f"says that the chat is too long for the model: {said}")
        if status in (401, 403):
            return self._failure("key", f"refused the key; set {self._setting}.api_key_env: {said}")
        kind = f"http {status}"
        if 300 <= status < 400:
            return self._failure(kind, f"answers with a redirect ({status}); set {self._setting}.base_url to its final address")
        if status in (408, 409, 425, 429) or status >= 500:
            after = retry_after_seconds(retry_after, datetime.now(UTC))
            return TryAgain(kind, after, self._failure(kind, f"answered {status} until the last attempt: {said}"))
        advice = f"; check {self._setting}.base_url and {self._setting}.model" if status == 404 else ""
        return self._failure(kind, f"refused the request with {status}{advice}: {said}")


class _Line:
    """A client, and the loop it lives in."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        try:
            from openai import AsyncOpenAI, DefaultAsyncHttpxClient
        except ImportError as error:
            raise ConfigError("a chat model needs the package openai; run pip install 'wildenv[chat]'") from error
        self.pid = os.getpid()
        self.client = AsyncOpenAI(**arguments, http_client=DefaultAsyncHttpxClient(follow_redirects=False))
        # The package would send these of the environment to any endpoint.
        self.client.organization = self.client.project = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="wildenv chat", daemon=True)
        self._thread.start()

    def wait(self, work: Coroutine[Any, Any, T], limit_s: float) -> T:
        """Runs a coroutine in the loop and waits for it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(limit_s)
        finally:
            future.cancel()

    def close(self) -> None:
        """Ends requests, connections, loop and thread."""
        if self.pid != os.getpid() or self._loop.is_closed():
            return
        if threading.current_thread() is self._thread:
            # The garbage collector may call this anywhere, and the loop cannot wait for itself.
            threading.Thread(target=self.close, daemon=True).start()
            return
        self.wait(_end(self.client), _GRACE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _ask(client: Any, body: Mapping[str, Any], limit_s: float) -> bytes:
    fields = {name: value for name, value in body.items() if name not in ("model", "messages")}
    async with asyncio.timeout(limit_s):
        answer = await client.chat.completions.with_raw_response.create(
            model=body["model"], messages=body["messages"], extra_body=fields, timeout=limit_s
        )
        return bytes(answer.http_response.content)


async def _end(client: Any) -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await client.close()
