from __future__ import annotations

import asyncio
import email
import email.message
from typing import Any

import pytest
from PIL import Image

from tests.generators.image_server import ImageServer, Turn, drip, drop, hang, image_server, picture, send
from wildenv.errors import ConfigError, GeneratorError
from wildenv.generators.base import Generator
from wildenv.generators.openai_images import OpenAIImages
from wildenv.images import decode, encode
from wildenv.web.net.manners import Rules

pytestmark = pytest.mark.loopback
QUICK = Rules(concurrency=4, attempts=2, backoff_s=0.01, longest_wait_s=1.0)
REFERENCES = [Image.new("RGB", (20, 10), "red"), Image.new("RGB", (10, 20), "blue")]
KEY = "sk-test-3141592653"


def _made(server: ImageServer, **settings: Any) -> OpenAIImages:
    values = {"model": "pencil-1", "base_url": f"{server.url}/v1", "rules": QUICK, "timeout_s": 5.0, "size": "64x48"}
    return OpenAIImages(**{**values, **settings})


def _draw(generator: OpenAIImages, references: list[Image.Image], seed: int = 0) -> Image.Image:
    return asyncio.run(generator.generate("a cup", references, seed))


def _reply(**fields: Any) -> Turn:
    return send({"created": 0, "data": [{"b64_json": picture(), **fields}]})


def _error(status: int, message: str, code: str | None = None) -> Turn:
    return send({"error": {"message": message, "type": "t", "code": code}}, status)


def _parts(server: ImageServer) -> list[email.message.Message]:
    head = f"Content-Type: {server.headers[-1]['content-type']}\r\n\r\n".encode()
    payload = email.message_from_bytes(head + server.bodies[-1]).get_payload()
    assert isinstance(payload, list)
    return payload  # type: ignore[return-value]


def test_without_references_it_generates(server: ImageServer) -> None:
    server.script.append(_reply())
    generator = _made(server, quality="high")
    assert isinstance(generator, Generator)
    assert _draw(generator, []).size == (64, 48)
    assert server.paths == ["/v1/images/generations"]
    assert server.json() == {"model": "pencil-1", "prompt": "a cup", "n": 1, "size": "64x48", "quality": "high"}


@pytest.mark.parametrize(("count", "name"), [(1, "image"), (2, "image[]")])
def test_with_references_it_edits_all_of_them_in_order(server: ImageServer, count: int, name: str) -> None:
    server.script.append(_reply())
    assert _draw(_made(server), REFERENCES[:count]).mode == "RGB"
    assert server.paths == ["/v1/images/edits"]
    fields = {str(part.get_param("name", header="content-disposition")): part for part in _parts(server)}
    assert fields["prompt"].get_payload() == "a cup"
    files = [part for part in _parts(server) if part.get_param("name", header="content-disposition") == name]
    sent = [part.get_payload(decode=True) for part in files]
    assert [decode(data).size for data in sent if isinstance(data, bytes)] == [one.size for one in REFERENCES[:count]]
    assert sent[0] == encode(REFERENCES[0])


def test_a_seed_goes_to_servers_that_know_one(server: ImageServer) -> None:
    server.script.extend([_reply(), _reply()])
    _draw(_made(server, sends_seed=True), [], seed=7)
    assert server.json()["seed"] == 7
    _draw(_made(server), [], seed=7)
    assert "seed" not in server.json()


def test_the_key_is_read_from_the_environment_and_never_told(server: ImageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENCIL_KEY", KEY)
    server.script.extend([_reply(), _error(401, f"no such key {KEY}")])
    _draw(_made(server, api_key_env="PENCIL_KEY"), [])
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    with pytest.raises(GeneratorError, match="answered 401") as error:
        _draw(_made(server, api_key_env="PENCIL_KEY"), [])
    assert KEY not in str(error.value)
    monkeypatch.delenv("PENCIL_KEY")
    with pytest.raises(ConfigError, match="PENCIL_KEY"):
        _draw(_made(server, api_key_env="PENCIL_KEY"), [])


@pytest.mark.parametrize(
    ("turn", "says"),
    [
        (send({"created": 0, "data": []}), "sent no picture"),
        (send({"created": 0}), "sent no picture"),
        (send({"created": 0, "data": [{"url": "http://x/1.png"}]}), r"generator\.response_format=b64_json"),
        (send({"created": 0, "data": [None]}), "sent no picture"),
        (send({"created": 0, "data": ["x"]}), "sent no picture"),
        (send({"created": 0, "data": {"a": 1}}), "sent no picture"),
        (send([]), "sent no picture"),
        (_reply(b64_json=7), "sent no picture"),
        (_reply(b64_json="aäöü"), "no readable picture"),
        (send(b"[" * 100_000), "sent what is no answer"),
        (_reply(b64_json="bm90IGEgcGljdHVyZQ=="), "no readable picture"),
        (send(b"<html>"), "sent"),
        (_error(500, "overloaded"), "answered 500: overloaded"),
        (drop, "cannot be reached"),
    ],
)
def test_what_is_no_picture_is_tried_again_and_then_a_failure(server: ImageServer, turn: Turn, says: str) -> None:
    server.script.extend([turn, turn])
    with pytest.raises(GeneratorError, match=says):
        _draw(_made(server), REFERENCES)
    assert len(server.bodies) == 2
    assert set(server.paths) == {"/v1/images/edits"}


def test_a_refusal_is_a_failure_and_nothing_is_drawn_from_less(server: ImageServer) -> None:
    server.script.append(_error(400, "your request was rejected by the safety system", "moderation_blocked"))
    with pytest.raises(GeneratorError, match="answered 400: your request was rejected by the safety system"):
        _draw(_made(server), REFERENCES)
    assert server.paths == ["/v1/images/edits"]


@pytest.mark.parametrize("references", [[], REFERENCES])
def test_a_redirect_is_not_followed_and_a_failure(server: ImageServer, references: list[Image.Image]) -> None:
    with image_server() as other:
        other.script.append(_reply())
        server.script.append(send(b"", 307, {"Location": f"{other.url}/v1/images"}))
        with pytest.raises(GeneratorError, match=r"redirect \(307\); set generator\.base_url"):
            _draw(_made(server), references)
        assert (len(server.bodies), len(other.bodies)) == (1, 0)


def test_a_picture_of_another_size_is_a_failure(server: ImageServer) -> None:
    server.script.extend([_reply(), _reply()])
    with pytest.raises(GeneratorError, match=r"64x48 pixels where 128x128 were asked for"):
        _draw(_made(server, size="128x128"), [])
    assert _draw(_made(server, size="auto"), []).size == (64, 48)


@pytest.mark.parametrize("turn", [hang, drip])
def test_an_endpoint_that_takes_too_long_is_not_asked_again(server: ImageServer, turn: Turn) -> None:
    server.script.append(turn)
    with pytest.raises(GeneratorError, match=r"within 0\.4 s; raise generator\.timeout_s"):
        _draw(_made(server, timeout_s=0.4), [])
    assert len(server.bodies) == 1


def test_more_references_than_it_takes(server: ImageServer) -> None:
    with pytest.raises(GeneratorError, match="takes 1 references and the answer has 2"):
        _draw(_made(server, max_references=1), REFERENCES)
    assert not server.bodies


def test_the_id_names_what_changes_the_picture() -> None:
    def id(**settings: Any) -> str:
        return OpenAIImages("m", "http://a/v1", **settings).id

    assert id() == OpenAIImages("m", "http://b/v1").id == "openai:m,1024x1024"
    assert id(size=None) == "openai:m"
    assert len({id(), id(size="auto"), id(quality="low"), id(quality="high")}) == 4
    assert id(response_format="b64_json") == id()


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"model": ""}, "model"), ({"base_url": "x"}, "base_url"), ({"size": "big"}, "size"), ({"timeout_s": -1}, "timeout_s")],
)
def test_wrong_settings_are_named(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=rf"generator\.{named}"):
        OpenAIImages(**{"model": "m", "base_url": "http://a/v1", **settings})
