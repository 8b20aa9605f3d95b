from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from PIL import Image

from tests.fakes import call, started
from wildenv.env import WildEnv
from wildenv.errors import DataError, DeadlineExceeded
from wildenv.web import picture
from wildenv.web.client import WebClient
from wildenv.web.deadline import tool_deadline
from wildenv.web.picture import MOST_PIXELS, SMALL_PIXELS, Picture, opened, room_for
from wildenv.web.room import Room
from wildenv.web.store import Store


@pytest.fixture
def small_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "_SMALL", Room(1_000))


def test_open_pictures_have_only_so_many_pixels_together(small_room: None, make_picture: Callable[..., bytes]) -> None:
    with opened(make_picture(size=(20, 20))), opened(make_picture(size=(20, 20))) as second:
        assert second.size == (20, 20)
        with tool_deadline(0.05), pytest.raises(DeadlineExceeded), opened(make_picture(size=(20, 20))):
            pass
    with opened(make_picture(size=(50, 50))) as large:
        assert large.size == (50, 50)


def test_small_pictures_do_not_wait_for_large_ones(
    small_room: None, monkeypatch: pytest.MonkeyPatch, make_picture: Callable[..., bytes]
) -> None:
    monkeypatch.setattr(picture, "SMALL_PIXELS", 400)
    monkeypatch.setattr(picture, "_LARGE", Room(1_000))
    large, small = make_picture(size=(30, 30)), make_picture(size=(20, 20))
    with opened(large), tool_deadline(0.05):
        with opened(small), opened(small):
            pass
        with pytest.raises(DeadlineExceeded), opened(large):
            pass


def test_a_wait_that_is_too_long_is_counted(make_provider: Callable[..., Any], make_picture: Callable[..., bytes]) -> None:
    provider, url = make_provider(), "https://a.example/0.png"
    provider.pictures[url] = make_picture()
    client = WebClient(provider, "record", Store.memory())
    (found,) = client.fetch_images([url])
    assert isinstance(found, Picture)
    with ExitStack() as others:
        for _ in range(MOST_PIXELS // SMALL_PIXELS // 2):
            others.enter_context(room_for(2_000, 2_000))
        with tool_deadline(0.05), pytest.raises(DeadlineExceeded), found.opened():
            pass
    with found.opened() as image:
        assert image.size == (16, 8)
    assert client.failures == {"fetch_image": {"deadline": 1}}


def test_what_is_no_picture_takes_no_room(small_room: None) -> None:
    bomb = io.BytesIO()
    Image.new("1", (9_000, 9_000)).save(bomb, "PNG")
    with room_for(50, 20):
        for data in (b"", b"<html>", bomb.getvalue()):
            with tool_deadline(0.5), pytest.raises(DataError), opened(data):
                pass
    with room_for(100, 10):
        pass


@pytest.mark.parametrize(
    "action", [call("image_search", query="lantern"), call("crop_image", image_id="IMG_001", box=[0, 0, 900, 900])]
)
def test_many_episodes_at_once_keep_to_the_room(monkeypatch: pytest.MonkeyPatch, action: dict[str, Any]) -> None:
    envs = [started() for _ in range(8)]
    if action["name"] == "crop_image":
        for env in envs:
            env.step(call("image_search", query="lantern", k=1))
    lock, ready, now, most = threading.Lock(), threading.Barrier(8, timeout=10), [0], [0]
    resize = Image.Image.resize

    def slowly(self: Image.Image, *args: Any, **kwargs: Any) -> Image.Image:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.01)
        with lock:
            now[0] -= 1
        return resize(self, *args, **kwargs)

    def step(env: WildEnv) -> str:
        ready.wait()
        return str(env.step(action)[4]["failure"])

    monkeypatch.setattr(picture, "_SMALL", Room(2 * 224 * 224))
    # What is shown is resized while the picture itself is open.
    monkeypatch.setattr(Image.Image, "resize", slowly)
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(step, envs)) == {""}
    # Some of the pictures are smaller than others.
    assert 1 < most[0] <= 4
