"""Connections are made to what was checked, and to nothing else, whatever a resolver says and however slowly."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which
from typing import Any

import httpcore
import pytest

from tests.web.hostile import HostileWeb, hostile_web
from wildenv.errors import DeadlineExceeded, Unavailable
from wildenv.web.deadline import tool_deadline
from wildenv.web.net.fetch import Fetcher, FetchLimits
from wildenv.web.net.guard import Guard, Refused
from wildenv.web.net.guarded import MOST_TRIED, Allowance, GuardedBackend, NoAddress, look_up
from wildenv.web.net.manners import Rules

QUICK = FetchLimits(connect_s=1.0, first_byte_s=1.0, total_s=2.0)
ONCE = Rules(attempts=1)

Found = list[tuple[Any, ...]]


def found(*addresses: str) -> Found:
    """What `socket.getaddrinfo` returns for these addresses."""
    six = {True: socket.AF_INET6, False: socket.AF_INET}
    return [(six[":" in address], socket.SOCK_STREAM, 6, "", (address, 0)) for address in addresses]


class Resolver:
    """Answers for names, in turn; the last answer again and again. Others: real ones, but for ``.com.`` names `others`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, others: Callable[[], Any] | None = None, **answers: Any) -> None:
        self.asked: list[str] = []
        self._answers = {f"{name}.example": list(given) for name, given in answers.items()}
        self._others = others
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self._answer)

    def _answer(self, host: str, *args: Any, **kwargs: Any) -> Any:
        if host not in self._answers:
            return self._others() if self._others and host.endswith(".com.") else self._real(host, *args, **kwargs)
        self.asked.append(host)
        answers = self._answers[host]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return answer() if callable(answer) else answer


class Dialler(httpcore.NetworkBackend):
    """Takes note of what is connected to; connects in truth to `to`, where an address is not in `dead`."""

    def __init__(self, dead: tuple[str, ...] = (), to: int | None = None) -> None:
        self.dialled: list[str] = []
        self.waits: list[float | None] = []
        self._dead = dead
        self._to = to

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *args: Any, **kwargs: Any
    ) -> httpcore.NetworkStream:
        self.dialled.append(host)
        self.waits.append(timeout)
        if host in self._dead or self._to is None:
            raise httpcore.ConnectTimeout("dead")
        return httpcore.SyncBackend().connect_tcp("127.0.0.1", self._to, timeout)


@pytest.fixture(scope="module")
def web() -> Iterator[HostileWeb]:
    with hostile_web() as running:
        yield running


def connect(dialler: Dialler, host: str, seconds: float = 4.0) -> None:
    GuardedBackend(Guard(), Allowance("connecting", seconds), dialler).connect_tcp(host, 80)


@pytest.mark.loopback
def test_a_name_that_changes_its_answer_is_connected_to_as_it_was_checked(
    monkeypatch: pytest.MonkeyPatch, web: HostileWeb
) -> None:
    resolver = Resolver(monkeypatch, rebinding=[found("93.184.216.34"), found("127.0.0.1")])
    dialler = Dialler(to=web.ports["plain"])
    monkeypatch.setattr(httpcore, "SyncBackend", lambda real=httpcore.SyncBackend: dialler if not dialler.dialled else real())
    got = Fetcher(QUICK, ONCE).page("http://rebinding.example:8080/page")
    assert got.data.startswith(b"<!DOCTYPE html>")
    assert got.url == "http://rebinding.example:8080/page"
    assert dialler.dialled == ["93.184.216.34"]
    assert resolver.asked == ["rebinding.example"]


@pytest.mark.loopback
def test_a_name_that_has_changed_its_answer_is_refused_the_next_time(monkeypatch: pytest.MonkeyPatch, web: HostileWeb) -> None:
    Resolver(monkeypatch, rebinding=[found("127.0.0.1"), found("127.0.0.1"), found("10.0.0.1")])
    fetcher = Fetcher(QUICK, ONCE, web.allow)
    port = web.ports["plain"]
    assert fetcher.page(f"http://rebinding.example:{port}/page").data
    assert fetcher.page(f"http://rebinding.example:{port}/page").data
    with pytest.raises(Unavailable) as refused:
        fetcher.page(f"http://rebinding.example:{port}/page")
    assert refused.value.kind == "refused address"


@pytest.mark.loopback
def test_a_redirect_to_a_name_is_checked_like_the_first_address(monkeypatch: pytest.MonkeyPatch, web: HostileWeb) -> None:
    port = web.ports["plain"]
    resolver = Resolver(monkeypatch, first=[found("127.0.0.1")], inner=[found("169.254.169.254")])
    monkeypatch.setattr(
        "tests.web.hostile_traps.Talk.to", lambda talk, _: talk.reply(b"", "Location: http://inner.example/a", "301 Moved")
    )
    with pytest.raises(Unavailable) as refused:
        Fetcher(QUICK, ONCE, web.allow).page(f"http://first.example:{port}/moved")
    assert (refused.value.kind, refused.value.url) == ("refused address", f"http://first.example:{port}/moved")
    assert "169.254.169.254" in refused.value.detail
    assert "169.254" not in str(refused.value)
    assert resolver.asked == ["first.example", "inner.example"]


@pytest.mark.parametrize(
    "addresses",
    [
        ("93.184.216.34", "10.0.0.1"),
        ("10.0.0.1", "93.184.216.34"),
        ("2606:4700::1", "::1"),
        ("93.184.216.34",) * 9 + ("::ffff:127.0.0.1",),
    ],
)
def test_one_private_address_among_public_ones_is_enough(monkeypatch: pytest.MonkeyPatch, addresses: tuple[str, ...]) -> None:
    Resolver(monkeypatch, dual=[found(*addresses)])
    dialler = Dialler()
    with pytest.raises(Refused):
        connect(dialler, "dual.example")
    assert dialler.dialled == []


def test_addresses_of_both_kinds_are_tried_in_turn_and_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    Resolver(monkeypatch, many=[found("2606:4700::1", "2606:4700::2", "2606:4700::3", "1.1.1.1", "1.1.1.2", "1.1.1.1")])
    dialler = Dialler()
    with pytest.raises(httpcore.ConnectTimeout):
        connect(dialler, "many.example", seconds=4.0)
    assert dialler.dialled == ["2606:4700::1", "1.1.1.1", "2606:4700::2", "1.1.1.2"]
    assert len(dialler.dialled) == MOST_TRIED
    assert dialler.waits == [pytest.approx(share, abs=0.2) for share in (1.0, 4 / 3, 2.0, 4.0)]


@pytest.mark.loopback
def test_the_next_address_is_tried_where_one_is_dead(monkeypatch: pytest.MonkeyPatch, web: HostileWeb) -> None:
    Resolver(monkeypatch, half=[found("2606:4700::1", "1.1.1.1")])
    dialler = Dialler(dead=("2606:4700::1",), to=web.ports["plain"])
    GuardedBackend(Guard(), Allowance("connecting", 2.0), dialler).connect_tcp("half.example", 80).close()
    assert dialler.dialled == ["2606:4700::1", "1.1.1.1"]


def _no_such_name() -> Found:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def _resolver_is_down() -> Found:
    raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


@pytest.mark.parametrize(("answer", "for_now"), [(_no_such_name, False), (_resolver_is_down, True), (list, False)])
def test_names_without_an_address(monkeypatch: pytest.MonkeyPatch, answer: Callable[[], Found], for_now: bool) -> None:
    Resolver(monkeypatch, gone=[answer])
    with pytest.raises(NoAddress) as none:
        connect(Dialler(), "gone.example")
    assert none.value.for_now is for_now


def test_a_resolver_that_is_down_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    resolver = Resolver(monkeypatch, down=[_resolver_is_down], gone=[_no_such_name], others=_no_such_name)
    fetcher = Fetcher(QUICK, Rules(attempts=3, backoff_s=0.01))
    for name, times in (("down", 3), ("gone", 1)):
        with pytest.raises(Unavailable) as failed:
            fetcher.page(f"http://{name}.example/")
        assert failed.value.kind == "dns"
        assert resolver.asked.count(f"{name}.example") == times


def test_a_resolver_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()

    def hang() -> Found:
        answered.wait(10)
        return found("1.1.1.1")

    Resolver(monkeypatch, hanging=[hang], others=_no_such_name)
    limits = FetchLimits(connect_s=0.2, first_byte_s=1.0, total_s=0.3)
    try:
        start = time.monotonic()
        with pytest.raises(Unavailable) as failed:
            Fetcher(limits, ONCE).page("http://hanging.example/")
        with tool_deadline(0.1), pytest.raises(DeadlineExceeded):
            Fetcher(QUICK, ONCE).page("http://hanging.example/")
        assert time.monotonic() - start < 2
    finally:
        answered.set()
    assert failed.value.kind == "timeout"


def test_look_ups_that_hang_are_limited_in_number(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()
    resolver = Resolver(monkeypatch, hanging=[lambda: found("1.1.1.1") if answered.wait(10) else []])
    monkeypatch.setattr("wildenv.web.net.guarded._LOOKUPS", threading.BoundedSemaphore(2))
    for _ in range(4):
        with pytest.raises(httpcore.TimeoutException):
            look_up("hanging.example", 80, Allowance("connecting", 0.05))
    assert len(resolver.asked) == 2
    answered.set()
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            assert look_up("hanging.example", 80, Allowance("connecting", 0.5)) == ["1.1.1.1"]
            break
        except httpcore.TimeoutException:
            continue
    assert len(resolver.asked) == 3


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for ``named.example``, with its key in the same file."""
    if which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    command += [
        "-subj",
        "/CN=named.example",
        "-addext",
        "subjectAltName=DNS:named.example",
        "-keyout",
        str(path),
        "-out",
        f"{path}.crt",
    ]
    subprocess.run(command, check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + Path(f"{path}.crt").read_bytes())
    return path


@pytest.fixture
def tls_port(certificate: Path) -> Iterator[int]:
    """A TLS server that answers every request with a page."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.05)
        over = threading.Event()

        def serve() -> None:
            while not over.is_set():
                try:
                    plain, _ = listening.accept()
                    plain.settimeout(2)
                    with plain, context.wrap_socket(plain, server_side=True) as secure:
                        secure.recv(65_536)
                        secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nsecret")
                except OSError:
                    continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        over.set()
        thread.join(5)


@pytest.mark.loopback
def test_tls_checks_the_name_although_an_address_is_connected_to(
    monkeypatch: pytest.MonkeyPatch, certificate: Path, tls_port: int
) -> None:
    Resolver(monkeypatch, named=[found("127.0.0.1")], other=[found("127.0.0.1")])
    trusting = ssl.create_default_context(cafile=f"{certificate}.crt")
    fetcher = Fetcher(QUICK, ONCE, (f"127.0.0.1:{tls_port}",), tls=trusting)
    assert fetcher.page(f"https://named.example:{tls_port}/").data == b"secret"
    for host in ("other.example", "127.0.0.1"):
        with pytest.raises(Unavailable) as failed:
            fetcher.page(f"https://{host}:{tls_port}/")
        assert failed.value.kind == "tls"
    with pytest.raises(Unavailable) as untrusted:
        Fetcher(QUICK, ONCE, (f"127.0.0.1:{tls_port}",)).page(f"https://named.example:{tls_port}/")
    assert untrusted.value.kind == "tls"


@pytest.mark.loopback
def test_a_tls_handshake_that_never_ends_is_not_waited_for(web: HostileWeb) -> None:
    start = time.monotonic()
    with pytest.raises(Unavailable) as failed:
        Fetcher(FetchLimits(connect_s=0.3, total_s=1.0), ONCE, web.allow).page(f"https://127.0.0.1:{web.ports['slow']}/never")
    assert failed.value.kind == "timeout"
    assert time.monotonic() - start < 2
