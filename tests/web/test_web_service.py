"""A service that misbehaves: attributed, bounded in time and size, retried where that helps, and no key ever leaks."""

from __future__ import annotations

import gzip
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.web.fake_services import Asked, DripBody, DripHeaders, FakeService, Hang, NoHttp, Reply, Short, bomb, in_turn
from wildenv.errors import ConfigError, DeadlineExceeded, ProviderError, ToolError, WebError
from wildenv.secrets import HIDDEN, Secret
from wildenv.web.deadline import tool_deadline
from wildenv.web.net.manners import Rules
from wildenv.web.net.service import Reply as Answer
from wildenv.web.net.service import Service

pytestmark = pytest.mark.loopback

KEY = "sk-0123456789-abcdef"
QUICK = Rules(concurrency=8, attempts=3, backoff_s=0.02)


@pytest.fixture
def server() -> Iterator[FakeService]:
    with FakeService(lambda asked: Reply({"fine": True})).running() as running:
        yield running


def service(server: FakeService, rules: Rules = QUICK, timeout_s: float = 2.0) -> Service:
    return Service("fake", server.url + "/", "web.search", {"X-Key": Secret(KEY)}, "FAKE_KEY", rules, timeout_s)


def failure(server: FakeService, *replies: Reply, timeout_s: float = 2.0) -> ProviderError:
    """Returns what is raised when the server answers with these replies."""
    server.answer = in_turn(*replies)
    with pytest.raises(ProviderError) as raised:
        service(server, timeout_s=timeout_s).post("/ask", {})
    return raised.value


def test_it_sends_json_with_the_key_and_keeps_the_connection(server: FakeService) -> None:
    one = service(server)
    for number in range(3):
        assert one.post("/ask", {"q": f"é {number}"}) == {"fine": True}
    assert one.get("/look", {"q": "a b&c", "n": 2}) == {"fine": True}
    assert [asked.body for asked in server.asked] == [{"q": "é 0"}, {"q": "é 1"}, {"q": "é 2"}, None]
    assert server.asked[3].params == {"q": "a b&c", "n": "2"}
    assert all(asked.headers["x-key"] == KEY for asked in server.asked)
    assert server.connections == 1
    assert one.spending.to_dict() == {"requests": 4, "retries": 0, "credits": 0, "cost": 0.0, "bytes": 4 * 14}
    one.close()
    assert one.post("/ask", {}) == {"fine": True}
    assert server.connections == 2


def test_a_packed_reply_is_unpacked(server: FakeService) -> None:
    server.answer = in_turn(Reply(gzip.compress(b'{"packed": "yes"}'), headers={"Content-Encoding": "gzip"}))
    assert service(server).post("/ask", {}) == {"packed": "yes"}
    assert "br" not in server.asked[0].headers["accept-encoding"]


@pytest.mark.parametrize("status", [500, 502, 503, 429, 408])
def test_a_passing_failure_is_tried_again(server: FakeService, status: int) -> None:
    server.answer = in_turn(Reply({}, status), Reply(b"<html>", status), Reply({"fine": True}))
    one = service(server)
    assert one.post("/ask", {}) == {"fine": True}
    assert (one.spending.requests, one.spending.retries) == (3, 2)


def test_a_lasting_failure_is_the_services(server: FakeService) -> None:
    error = failure(server, Reply({"message": "overloaded"}, 503))
    assert error.kind == "http 503"
    assert len(server.asked) == 3
    assert "fake has a failure of its own" in str(error)
    assert "overloaded" in str(error)


def test_retry_after_is_obeyed(server: FakeService) -> None:
    server.answer = in_turn(Reply({}, 429, {"Retry-After": "1"}), Reply({"fine": True}))
    service(server).post("/ask", {})
    assert 1.0 <= server.at[1] - server.at[0] < 2.0


def test_a_long_retry_after_is_not_waited_for(server: FakeService) -> None:
    start = time.monotonic()
    error = failure(server, Reply({}, 429, {"Retry-After": "3600"}))
    assert error.kind == "http 429"
    assert "web.search.rules.per_second" in str(error)
    assert time.monotonic() - start < 1
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("reply", "kind", "tries"),
    [
        (Reply(b"<html>Please log in</html>"), "not json", 3),
        (Reply(b""), "not json", 3),
        (Reply(b'{"half": '), "not json", 3),
        (Reply(b"NaN"), "not json", 3),
        (Reply(b'{"score": 1e999}'), "not json", 3),
        (Reply(b'{"score": -1e999}'), "not json", 3),
        (Reply(b"[" * 200_000), "not json", 3),
        (Reply(b"9" * 5000), "not json", 3),
        (Short(), "protocol", 3),
        (NoHttp(), "protocol", 3),
        (Reply(b"\x1f\x8b broken", headers={"Content-Encoding": "gzip"}), "protocol", 3),
        (Reply(b"{}", headers={"Content-Encoding": "br"}), "protocol", 3),
        (Reply({}, 400), "http 400", 1),
        (Reply({}, 302, {"Location": "http://169.254.169.254/"}), "http 302", 1),
        (bomb(50), "too large", 1),
        (Reply(b" " * 9_000_000), "too large", 1),
    ],
)
def test_what_is_no_answer(server: FakeService, reply: Reply, kind: str, tries: int) -> None:
    error = failure(server, reply)
    assert error.kind == kind, error
    assert "fake" in str(error)
    assert "web.search" in str(error)
    assert len(server.asked) == tries


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_names_its_variable(server: FakeService, status: int) -> None:
    error = failure(server, Reply({"message": "Unauthorized."}, status))
    assert "FAKE_KEY" in str(error)
    assert "web.search.key_env" in str(error)
    assert len(server.asked) == 1


@pytest.mark.parametrize("reply", [Hang(), DripHeaders(), DripBody()])
def test_every_kind_of_slowness_ends_in_time(server: FakeService, reply: Reply) -> None:
    start = time.monotonic()
    server.answer = in_turn(reply)
    with pytest.raises(ProviderError, match=r"within 0.4 s.*web\.search\.timeout_s") as raised:
        service(server, Rules(attempts=1), timeout_s=0.4).post("/ask", {})
    assert raised.value.kind == "timeout"
    assert 0.35 < time.monotonic() - start < 1.0


@pytest.mark.parametrize("reply", [Hang(), DripHeaders(), DripBody()])
def test_no_attempt_outlasts_the_tool_call(server: FakeService, reply: Reply) -> None:
    server.answer = in_turn(reply)
    start = time.monotonic()
    with tool_deadline(0.5), pytest.raises(WebError):
        service(server, timeout_s=30).post("/ask", {})
    assert time.monotonic() - start < 0.9


def test_time_that_ran_out_is_said_so(server: FakeService) -> None:
    server.answer = in_turn(DripBody())
    with tool_deadline(0.3), pytest.raises(DeadlineExceeded, match=r"env\.tool_deadline_s"):
        service(server, timeout_s=30).post("/ask", {})


def test_a_slow_connection_is_not_used_again(server: FakeService) -> None:
    server.answer = in_turn(DripBody(), Reply({"fine": True}))
    one = service(server, Rules(attempts=2, backoff_s=0.01), timeout_s=0.3)
    assert one.post("/ask", {}) == {"fine": True}
    assert server.connections == 2


def test_nobody_there(server: FakeService) -> None:
    gone = Service("fake", "http://127.0.0.1:9", "web.search", rules=Rules(attempts=2, backoff_s=0.01))
    with pytest.raises(ProviderError, match=r"cannot be reached.*web\.search\.url") as raised:
        gone.post("/ask", {})
    assert raised.value.kind == "unreachable"
    assert gone.spending.requests == 2


def test_what_a_judge_finds_is_raised(server: FakeService) -> None:
    def judge(reply: Answer) -> Exception | None:
        return ToolError(f"no {reply.body}") if reply.status == 404 else None

    server.answer = in_turn(Reply("page", 404))
    with pytest.raises(ToolError, match="no page"):
        service(server).post("/ask", {}, judge)
    assert len(server.asked) == 1


@pytest.mark.parametrize(("status", "tries"), [(403, 1), (500, 3)])
def test_an_error_inside_http_200_counts_as_one(server: FakeService, status: int, tries: int) -> None:
    server.answer = in_turn(Reply({"message": "no", "statusCode": status}))
    one = Service("fake", server.url, "web.search", rules=QUICK, status_of=lambda body: body.get("statusCode"))
    with pytest.raises(ProviderError) as raised:
        one.post("/ask", {})
    assert raised.value.kind == f"http {status}"
    assert len(server.asked) == tries


def echo(asked: Asked) -> Reply:
    """Sends the key back wherever it can."""
    status = 500 if asked.path == "/broken" else 200
    body = {"headers": asked.headers, "key": asked.headers["x-key"]}
    return Reply(body, status, {"X-Echo": asked.headers["x-key"], "Set-Cookie": f"key={asked.headers['x-key']}"})


def not_http(asked: Asked) -> Reply:
    class Leaky(Reply):
        def send(self, handler: object, over: threading.Event) -> None:
            handler.wfile.write(f"HTTP/1.1 200 OK\r\n{asked.headers['x-key']} \r\n\r\n".encode())  # type: ignore[attr-defined]
            handler.close_connection = True  # type: ignore[attr-defined]

    return Leaky()


@pytest.mark.parametrize("answer", [echo, not_http])
@pytest.mark.parametrize("path", ["/fine", "/broken"])
def test_a_key_never_leaks(
    server: FakeService, caplog: pytest.LogCaptureFixture, answer: Callable[[Asked], Reply], path: str
) -> None:
    caplog.set_level(logging.DEBUG)
    server.answer = answer
    said = ""
    try:
        said = repr(service(server).post(path, {}))
        assert HIDDEN in said
    except ProviderError as error:
        whole: BaseException | None = error
        while whole is not None:
            said += repr(whole)
            whole = whole.__cause__ or whole.__context__
    assert server.asked[0].headers["x-key"] == KEY
    assert KEY not in said
    assert KEY not in caplog.text
    assert "receive_response_headers" in caplog.text


def test_threads_share_the_limits(server: FakeService) -> None:
    lock = threading.Lock()
    under_way, most = 0, 0

    def answer(asked: Asked) -> Reply:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.01)
        with lock:
            under_way -= 1
        return Reply({"n": asked.body["n"]})

    server.answer = answer
    one = service(server, Rules(concurrency=4))
    with ThreadPoolExecutor(32) as threads:
        found = list(threads.map(lambda n: one.post("/ask", {"n": n})["n"], range(96)))
    assert found == list(range(96))
    assert most == 4
    assert server.connections <= 4


def test_a_proxy_of_the_environment_is_used(server: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url.replace("//", "//user:proxy-password@"))
    monkeypatch.setenv("no_proxy", "")
    behind = Service("fake", "http://service.example/api", "web.search", rules=QUICK)
    assert behind.post("/ask", {}) == {"fine": True}
    assert server.asked[0].headers["host"] == "service.example"
    assert server.asked[0].headers["proxy-authorization"].startswith("Basic ")


def test_a_fork_opens_its_own_connections(server: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    one = service(server)
    one.post("/ask", {})
    monkeypatch.setattr("os.getpid", lambda: -1)
    one.post("/ask", {})
    assert server.connections == 2


@pytest.mark.parametrize(
    "url",
    ["", "serper.dev", "ftp://a.example", "http://", "http://u:p@a.example", "http://a.example/?k=v", "http://a.example:99999"],
)
def test_an_address_that_is_none_names_the_setting(url: str) -> None:
    with pytest.raises(ConfigError, match=r"web\.search\.url"):
        Service("fake", url, "web.search")


@pytest.mark.parametrize("key", ["", "line\nbreak", "clé", " "])
def test_a_key_that_cannot_be_sent_names_its_variable(key: str) -> None:
    with pytest.raises(ConfigError, match="FAKE_KEY") as raised:
        Service("fake", "http://a.example", "web.search", {"X-Key": Secret(key)}, "FAKE_KEY")
    assert key.strip() == "" or key not in str(raised.value)


def test_a_timeout_must_be_positive() -> None:
    with pytest.raises(ConfigError, match=r"web\.search\.timeout_s"):
        Service("fake", "http://a.example", "web.search", timeout_s=0)
