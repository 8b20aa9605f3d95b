"""Connections to one service whose every wait ends with the deadline of the tool call, however slowly bytes arrive.

The usual timeouts of HTTP libraries hold for one read each, so a server that sends a byte now and then is waited for without end.
Here each connect, read and write waits at most `wildenv.web.deadline.remaining`. The resolver of the operating system has limits
of its own, and no other.
"""

from __future__ import annotations

import ssl
import urllib.request
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote, urlsplit

import httpcore
import httpx

from wildenv.errors import ConfigError
from wildenv.secrets import Secret
from wildenv.web.deadline import remaining

_LONGEST_S = 3600.0


class BoundedStream(httpcore.NetworkStream):
    """A connection that waits no longer than the deadline.

    Args:
        stream: The connection.
    """

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _bounded(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _bounded(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return BoundedStream(self._stream.start_tls(ssl_context, server_hostname, _bounded(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class BoundedBackend(httpcore.NetworkBackend):
    """Makes connections that wait no longer than the deadline.

    Args:
        backend: Who connects.
    """

    def __init__(self, backend: httpcore.NetworkBackend | None = None) -> None:
        self._backend = backend or httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        return BoundedStream(self._backend.connect_tcp(host, port, _bounded(timeout), local_address, socket_options))


def service_pool(url: str, connections: int) -> httpcore.ConnectionPool:
    """Makes the connections to one trusted service, through the proxy of the environment (``HTTPS_PROXY``, ``NO_PROXY``) if any.

    Args:
        url: Address of the service.
        connections: At most so many, kept open between requests.

    Raises:
        ConfigError: If the proxy is not an http proxy.
    """
    common: dict[str, Any] = {
        "ssl_context": httpx.create_ssl_context() if url.startswith("https:") else None,
        "max_connections": connections,
        "max_keepalive_connections": connections,
        "keepalive_expiry": 60.0,
        "network_backend": BoundedBackend(),
    }
    proxy = _proxy(url)
    if proxy is None:
        return httpcore.ConnectionPool(**common)
    parts = urlsplit(proxy)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            "the proxy of the environment is no http proxy; set HTTP_PROXY and HTTPS_PROXY to one, or list the host in NO_PROXY"
        )
    auth = None
    if parts.username is not None:
        auth = (unquote(parts.username), Secret(unquote(parts.password or "")).reveal())
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    bare = f"{parts.scheme}://{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
    return httpcore.HTTPProxy(proxy_url=bare, proxy_auth=auth, **common)


def _proxy(url: str) -> str | None:
    parts = urlsplit(url)
    if urllib.request.proxy_bypass(parts.hostname or ""):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


def _bounded(timeout: float | None) -> float:
    return remaining(_LONGEST_S if timeout is None else timeout)
