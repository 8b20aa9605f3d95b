from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest
from PIL import Image

from tests.generators.image_server import ImageServer, Turn, drip, drop, hang, image_server, picture, send
from wildenv.errors import ConfigError, GeneratorError
from wildenv.generators.base import Generator
from wildenv.generators.qwen_edit import QwenEdit
from wildenv.images import decode
from wildenv.web.net.manners import Rules

pytestmark = pytest.mark.loopback
QUICK = Rules(concurrency=4, attempts=3, backoff_s=0.01, longest_wait_s=1.0)
REFERENCES = [Image.new("RGB", (20, 10), "red"), Image.new("RGB", (10, 20), "blue")]


def _made(server: ImageServer, **settings: Any) -> QwenEdit:
    return QwenEdit(**{"base_url": server.url, "rules": QUICK, "timeout_s": 5.0, **settings})


def _draw(generator: QwenEdit, references: list[Image.Image] | None = None, seed: int = 0) -> Image.Image:
    return asyncio.run(generator.generate("a cup", REFERENCES if references is None else references, seed))


def test_the_request_is_gen_searchers_and_the_picture_comes_back(server: ImageServer) -> None:
    server.script.append(send({"success": True, "image": picture((64, 48))}))
    generator = _made(server)
    assert isinstance(generator, Generator)
    drawn = _draw(generator, seed=7)
    assert (drawn.size, drawn.mode) == ((64, 48), "RGB")
    row = server.json()
    urls = row.pop("image_urls")
    assert server.paths == ["/generate"]
    assert row == {
        "prompt": "a cup",
        "seed": 7,
        "true_cfg_scale": 4.0,
        "negative_prompt": " ",
        "num_inference_steps": 40,
        "guidance_scale": 1.0,
        "num_images_per_prompt": 1,
    }
    assert [decode(base64.b64decode(url.partition(",")[2])).size for url in urls] == [(20, 10), (10, 20)]
    assert all(url.startswith("data:image/png;base64,") for url in urls)


def test_a_data_url_is_a_picture_too(server: ImageServer) -> None:
    server.script.append(send({"success": True, "image": f"data:image/png;base64,{picture()}"}))
    assert _draw(_made(server)).size == (64, 48)


def test_more_references_than_the_server_takes_are_an_error_and_none_is_dropped(server: ImageServer) -> None:
    with pytest.raises(GeneratorError, match=r"takes 3 references and the answer has 4; set env\.limits\.references=3"):
        _draw(_made(server), REFERENCES * 2)
    assert not server.bodies


def test_a_redirect_is_not_followed_and_a_failure(server: ImageServer) -> None:
    with image_server() as other:
        other.script.append(send({"success": True, "image": picture()}))
        server.script.append(send(b"", 307, {"Location": f"{other.url}/generate"}))
        with pytest.raises(GeneratorError, match=r"redirect \(307\); set generator\.base_url"):
            _draw(_made(server))
        assert (len(server.bodies), len(other.bodies)) == (1, 0)


def test_it_never_draws_from_the_bare_prompt(server: ImageServer) -> None:
    with pytest.raises(GeneratorError, match="the answer has none"):
        _draw(_made(server), [])
    assert not server.bodies


@pytest.mark.parametrize(
    ("turn", "says"),
    [
        (send({"success": False, "error": "out of memory"}), "drew nothing: out of memory"),
        (send({"success": "true", "image": picture()}), "drew nothing"),
        (send({"success": True}), "sent no picture"),
        (send({"success": True, "image": ""}), "sent no picture"),
        (send({"success": True, "image": "bm90IGEgcGljdHVyZQ=="}), "no readable picture"),
        (send({"success": True, "image": "%%%"}), "no readable picture"),
        (send({"success": True, "image": "aäöü"}), "no readable picture"),
        (send(b"[" * 100_000), "no JSON"),
        (send({"success": True, "image": picture()[:60]}), "no readable picture"),
        (send(b"<html>"), "no JSON"),
        (send([1, 2]), "drew nothing"),
        (send({"detail": "busy"}, 503), "answered 503"),
        (send({"detail": "busy"}, 500), "answered 500"),
        (drop, "cannot be reached"),
    ],
)
def test_what_is_no_picture_is_tried_again_and_then_a_failure(server: ImageServer, turn: Turn, says: str) -> None:
    server.script.extend([turn] * 3)
    with pytest.raises(GeneratorError, match=says):
        _draw(_made(server))
    assert len(server.bodies) == 3
    server.script.extend([turn, send({"success": True, "image": picture()})])
    assert _draw(_made(server)).size == (64, 48)


@pytest.mark.parametrize("turn", [hang, drip])
def test_a_server_that_takes_too_long_is_not_asked_again(server: ImageServer, turn: Turn) -> None:
    server.script.append(turn)
    with pytest.raises(GeneratorError, match=r"within 0\.3 s; raise generator\.timeout_s"):
        _draw(_made(server, timeout_s=0.3))
    assert len(server.bodies) == 1


def test_a_request_the_server_refuses_is_not_repeated(server: ImageServer) -> None:
    server.script.append(send({"detail": "image_urls: too many"}, 422))
    with pytest.raises(GeneratorError, match=r"answered 422: .*too many"):
        _draw(_made(server))
    assert len(server.bodies) == 1


def test_a_pause_that_is_longer_than_patience_is_a_generator_error(server: ImageServer) -> None:
    server.script.append(send({}, 429, {"Retry-After": "60"}))
    generator = _made(server)
    with pytest.raises(GeneratorError, match="answered 429"):
        _draw(generator)
    with pytest.raises(GeneratorError, match="asked for a pause"):
        _draw(generator)
    assert len(server.bodies) == 1


def test_a_size_is_sent_and_checked(server: ImageServer) -> None:
    server.script.append(send({"success": True, "image": picture((64, 48))}))
    with pytest.raises(GeneratorError, match=r"64x48 pixels where 96x64 were asked for"):
        _draw(_made(server, width=96, height=64))
    assert (server.json()["width"], server.json()["height"]) == (96, 64)


def test_the_id_names_what_changes_the_picture_and_not_the_address() -> None:
    one, other = QwenEdit("http://a:1"), QwenEdit("http://b:2")
    assert one.id == other.id == "qwen-edit:2509,cfg4,steps40,g1"
    changed = [{"name": "2511"}, {"true_cfg_scale": 3.0}, {"num_inference_steps": 8}, {"negative_prompt": "blur"}]
    ids = {one.id, *(QwenEdit("http://a:1", **change).id for change in changed), QwenEdit("http://a:1", width=8, height=8).id}
    assert len(ids) == 6


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"base_url": "nowhere"}, r"generator\.base_url"),
        ({"max_references": 0}, r"generator\.max_references"),
        ({"timeout_s": 0}, r"generator\.timeout_s"),
        ({"width": 100}, r"generator\.height"),
        ({"num_inference_steps": 0}, r"generator\.num_inference_steps"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        QwenEdit(**{"base_url": "http://127.0.0.1:1", **settings})
