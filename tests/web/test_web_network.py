"""Our own network being down is the infrastructure's failure: nothing is learnt about a site, and nothing is recorded."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpcore
import pytest

from tests.web.conftest import FakeProvider
from tests.web.hostile import HostileWeb, hostile_web
from wildenv.errors import ProviderError, Unavailable
from wildenv.web.client import WebClient
from wildenv.web.net.fetch import Fetcher, FetchLimits
from wildenv.web.net.manners import Rules
from wildenv.web.net.network import MOST_IN_A_ROW
from wildenv.web.providers.base import Parts
from wildenv.web.providers.direct import DirectPictures
from wildenv.web.store import Store

LIMITS = FetchLimits(connect_s=0.3, first_byte_s=1.0, total_s=2.0)
ONCE = Rules(attempts=1)
PUBLIC = "93.184.216.34"


class Net:
    """A network: what names and connections come to. `names` and `dial` raise or return."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, port: int = 0) -> None:
        self.names: dict[str, Callable[[], str]] = {}
        self.others: Callable[[], str] = lambda: PUBLIC
        self.dial: Callable[[str], None] = lambda address: None
        self._real = socket.getaddrinfo
        self._connect = httpcore.SyncBackend
        self._port = port
        monkeypatch.setattr(socket, "getaddrinfo", self._look_up)
        monkeypatch.setattr(httpcore, "SyncBackend", lambda: self)

    def _look_up(self, host: str, port: Any, *args: Any, **kwargs: Any) -> Any:
        if host[0].isdigit() and host.count(".") == 3:
            return self._real(host, port, *args, **kwargs)
        address = self.names.get(host, self.others)()
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, 0))]

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *args: Any, **kwargs: Any) -> Any:
        try:
            self.dial(host)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        return self._connect().connect_tcp("127.0.0.1", self._port, timeout)


def fails_with(number: int) -> Callable[..., Any]:
    def fail(*_: object) -> Any:
        raise OSError(number, os.strerror(number))

    return fail


def name_fails(number: int) -> Callable[[], str]:
    def fail() -> str:
        raise socket.gaierror(number, "no")

    return fail


@pytest.fixture(scope="module")
def web() -> Iterator[HostileWeb]:
    with hostile_web() as running:
        yield running


@pytest.mark.parametrize("number", [socket.EAI_AGAIN, socket.EAI_FAIL, socket.EAI_SYSTEM])
def test_a_resolver_that_does_not_work_is_no_failure_of_a_site(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    net = Net(monkeypatch)
    net.others = name_fails(number)
    with pytest.raises(ProviderError, match=r"network of this machine seems to be down.*name server") as failed:
        Fetcher(LIMITS, ONCE).page("http://a.example/")
    assert failed.value.kind == "network"


def test_a_resolver_that_does_not_answer_is_no_failure_of_a_site(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    net = Net(monkeypatch)
    net.others = lambda: str(over.wait(5))
    try:
        with pytest.raises(ProviderError, match="name server does not answer"):
            Fetcher(LIMITS, ONCE).page("http://a.example/")
    finally:
        over.set()


def test_a_name_whose_own_server_fails_is_a_failure_of_that_site(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net(monkeypatch)
    net.names["lame.example"] = name_fails(socket.EAI_AGAIN)
    net.others = name_fails(socket.EAI_NONAME)
    with pytest.raises(Unavailable) as failed:
        Fetcher(LIMITS, ONCE).page("http://lame.example/")
    assert failed.value.kind == "dns"


@pytest.mark.parametrize("number", [errno.ENETUNREACH, errno.ENETDOWN])
def test_a_machine_without_a_route_says_so_at_once(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    Net(monkeypatch).dial = fails_with(number)
    with pytest.raises(ProviderError, match=r"no way to a\.example") as failed:
        Fetcher(LIMITS, ONCE).picture("http://a.example/a.png")
    assert failed.value.kind == "network"


def test_a_site_with_ipv6_only_is_that_site_s_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net(monkeypatch)
    net.dial = fails_with(errno.ENETUNREACH)
    net.others = lambda: "2606:4700::1"
    with pytest.raises(Unavailable):
        Fetcher(LIMITS, ONCE).page("http://six.example/")


@pytest.mark.parametrize("number", [errno.EHOSTUNREACH, errno.ECONNREFUSED])
def test_hosts_that_fail_one_after_another_are_not_all_to_blame(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    Net(monkeypatch).dial = fails_with(number)
    fetcher = Fetcher(LIMITS, ONCE)
    for host in range(MOST_IN_A_ROW):
        for _ in range(3):
            with pytest.raises(Unavailable):
                fetcher.page(f"http://{host}.example/")
    for _ in range(2):
        with pytest.raises(ProviderError, match=r"5 hosts failed one after another.*check its connection") as failed:
            fetcher.page("http://last.example/")
        assert failed.value.kind == "network"


@pytest.mark.loopback
def test_hosts_that_fail_while_another_can_be_reached_are_to_blame(monkeypatch: pytest.MonkeyPatch, web: HostileWeb) -> None:
    net = Net(monkeypatch, web.ports["plain"])
    net.names |= {f"dead{i}.example": name_fails(socket.EAI_NONAME) for i in range(9)}
    fetcher = Fetcher(LIMITS, ONCE)
    assert fetcher.page("http://good.example/page").data
    for i in range(9):
        with pytest.raises(Unavailable):
            fetcher.page(f"http://dead{i}.example/")
    net.others = name_fails(socket.EAI_NONAME)
    with pytest.raises(ProviderError):
        fetcher.page("http://last.example/")


def test_no_gap_is_written_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, make_provider: type[FakeProvider]) -> None:
    Net(monkeypatch).others = name_fails(socket.EAI_AGAIN)
    fake = make_provider()
    with Store(tmp_path / "web.sqlite") as store:
        client = WebClient(Parts(fake, fake, DirectPictures(Fetcher(LIMITS, ONCE))), "record", store)
        with pytest.raises(ProviderError):
            client.fetch_images([f"http://{i}.example/a.png" for i in range(6)])
        assert store.gaps(("fetch_image",)) == []
        assert set(client.failures["fetch_image"]) == {"network"}
