"""A web that does everything wrong, on 127.0.0.1: for tests of what is fetched from hosts that nobody vouches for.

`hostile_web` runs it in threads of this process, `hostile_process` in a process of its own, so that its memory is not counted
with that of whoever is tested. Both stop at the end of the `with` block; a reply that would never end does so after a minute, and
the process ends with its parent. Traps are spread over several ports, which count as several hosts, so that a host that asks for
a pause or is slow does not hold up the others.
"""

from __future__ import annotations

import http.client
import json
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.web import hostile_bodies as bodies
from tests.web.hostile_traps import IMAGES, LONGEST_S, PAGES, SERVED, State, Talk, failing

HOSTS = ("plain", "broken", "slow", "busy", "closed", "moody", "forbidden")
"""One port each. ``forbidden`` is the one that nobody is allowed to connect to."""


@dataclass(frozen=True, slots=True)
class Trap:
    """One address and what has to come of it.

    Attributes:
        name: Of the trap.
        url: Its address.
        tool: ``fetch_page`` or ``fetch_image``.
        fetched: What the fetcher may make of it: ``answer``, ``absent``, or a kind of `Unavailable`.
        outcomes: The same for the whole web client, which extracts and decodes, on a machine that may be too busy to notice in
            time that something has no end.
    """

    name: str
    url: str
    tool: str
    fetched: tuple[str, ...]
    outcomes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostileWeb:
    """The server as a client sees it.

    Attributes:
        ports: By host.
        traps: By name.
    """

    ports: dict[str, int]
    traps: dict[str, Trap]

    @property
    def base(self) -> str:
        """Address of the plain host."""
        return f"http://127.0.0.1:{self.ports['plain']}"

    @property
    def allow(self) -> tuple[str, ...]:
        """What `Fetcher(allow=...)` has to be given."""
        return tuple(f"127.0.0.1:{port}" for host, port in self.ports.items() if host != "forbidden")

    def counters(self) -> dict[str, int]:
        """Requests by path, and under ``impolite`` those that came while the busy host had asked for a pause."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports["plain"], timeout=5)
        try:
            connection.request("GET", "/counters")
            found: dict[str, int] = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        return found


NAMES = tuple(SERVED)
"""Of all traps."""


def _traps(ports: dict[str, int]) -> dict[str, Trap]:
    traps = {}
    for tool, rows in (("fetch_page", PAGES), ("fetch_image", IMAGES)):
        for host, name, _, fetched, *client in rows:
            url = f"http://127.0.0.1:{ports[host]}/{name}"
            traps[name] = Trap(name, url, tool, fetched, client[0] if client else fetched)
    return traps


class _Handler(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        state, connection = self.server.state, self.request
        connection.settimeout(LONGEST_S)
        try:
            head = b""
            while b"\r\n\r\n" not in head:
                data = connection.recv(65_536)
                if not data:
                    return
                head += data
            path = head.split(b" ", 2)[1].decode("latin-1")
            name = path.partition("?")[0].strip("/")
            if name != "counters":
                state.count(f"/{name}")
            talk = Talk(connection, head, state, self.server.ports)
            if name == "counters":
                with state.lock:
                    counts = json.dumps({"impolite": 0, **state.counts})
                talk.reply(counts.encode(), media_type="application/json")
            else:
                SERVED.get(name, failing("404 Not Found"))(talk)
        except OSError:
            # The other side has had enough, which is what most of this is about.
            return


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, state: State, ports: dict[str, int]) -> None:
        self.state = state
        self.ports = ports
        super().__init__(("127.0.0.1", 0), _Handler)


@contextmanager
def hostile_web() -> Iterator[HostileWeb]:
    """Runs the server in threads of this process."""
    bodies.prepare()
    state, ports = State(), {}
    with ExitStack() as stack:
        servers = []
        for host in HOSTS:
            server = stack.enter_context(_Server(state, ports))
            ports[host] = server.server_address[1]
            servers.append(server)
        for server in servers:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
            stack.callback(server.shutdown)
        try:
            yield HostileWeb(ports, _traps(ports))
        finally:
            state.stop.set()


@contextmanager
def hostile_process() -> Iterator[HostileWeb]:
    """Runs the server in a process of its own, which ends with this one."""
    command = [sys.executable, "-m", "tests.web.hostile"]
    root = Path(__file__).parents[2]
    process: subprocess.Popen[Any]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            ports = json.loads(process.stdout.readline())
            yield HostileWeb(ports, _traps(ports))
        finally:
            process.stdin.close()
            process.wait(10)


def main() -> None:
    """Serves until standard input ends."""
    with hostile_web() as web:
        sys.stdout.write(json.dumps(web.ports) + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
