from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image

from tests.fakes import draw
from tests.models.fault_server import FaultServer, say
from wildenv.errors import ConfigError, UsageError
from wildenv.images import ImageStore, PixelPolicy, decode
from wildenv.messages import ToolCall, assistant_message, image_block, parse_action, text_block, tool_message
from wildenv.models.chat import ChatModel
from wildenv.models.dialect import Dialect
from wildenv.models.pictures import Pictures
from wildenv.models.reply import ReplyError

pytestmark = pytest.mark.loopback

Make = Callable[..., ChatModel]
TOOL = {"type": "function", "function": {"name": "image_search", "parameters": {"type": "object", "properties": {}}}}
SCHEMA = {
    "type": "object",
    "properties": {"scores": {"type": "array", "items": {"enum": [0, 0.5, 1]}, "minItems": 2}, "ok": {"type": "boolean"}},
    "required": ["scores", "ok"],
    "additionalProperties": False,
}
GOOD = {"scores": [0.5, 1], "ok": True}


def chat(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": list(blocks) or [text_block("judge this")]}]


def searched(images: ImageStore) -> list[dict[str, Any]]:
    """A chat in which two tools replied, one of them with pictures."""
    action = parse_action('Let me look. <tool_call>{"name": "image_search", "arguments": {"query": "a"}}</tool_call>')
    first, second = action.calls[0], ToolCall("call_1_2", "web_fetch", {"url": "u", "prompt": "p"})
    red, blue = (image_block(f"IMG_00{i}", images.put_png(draw(c, (56, 56)))) for i, c in ((1, "red"), (2, "blue")))
    return [
        {"role": "system", "content": [text_block("Find it.")]},
        {"role": "user", "content": [text_block("Draw the lantern.")]},
        assistant_message(type(action)(action.text, (first, second))),
        tool_message(first, [text_block("IMG_001 red"), red, text_block("IMG_002 blue"), blue]),
        tool_message(second, [text_block("a page")]),
    ]


def pictures_of(body: dict[str, Any]) -> list[bytes]:
    """Returns the bytes of the pictures of a request, in order."""
    parts = [part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [base64.b64decode(url.partition(",")[2], validate=True) for url in urls]


def test_pictures_arrive_as_they_are_stored(make: Make, server: FaultServer) -> None:
    images = ImageStore()
    sent = [draw("red", (300, 150)), draw("blue", (10, 700))]
    blocks = [image_block(f"IMG_00{i}", images.put_png(png)) for i, png in enumerate(sent, 1)]
    make().complete_sync(chat(text_block("which?"), *blocks), images=images)
    assert pictures_of(server.bodies[0]) == sent
    (message,) = server.bodies[0]["messages"]
    assert [part["type"] for part in message["content"]] == ["text", "image_url", "image_url"]
    assert message["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")


def test_one_pixel_policy_holds_for_every_picture(make: Make, server: FaultServer) -> None:
    images = ImageStore()
    policy = PixelPolicy(max_pixels=12_544, multiple=28)
    fits, large = draw("red", (56, 84)), draw("blue", (1_000, 500))
    blocks = [image_block("", images.put_png(png)) for png in (fits, large)]
    make(pictures=Pictures(pixels=policy)).complete_sync(chat(*blocks), images=images)
    first, second = pictures_of(server.bodies[0])
    assert first == fits
    assert decode(second).tobytes() == policy.fit(decode(large)).tobytes()


def test_pictures_may_be_sent_as_jpeg(make: Make, server: FaultServer) -> None:
    images = ImageStore()
    block = image_block("", images.put_png(draw("red", (400, 200))))
    make(pictures=Pictures("jpeg", pixels=PixelPolicy())).complete_sync(chat(block), images=images)
    assert server.bodies[0]["messages"][0]["content"][0]["image_url"]["url"].startswith("data:image/jpeg;base64,")
    image = Image.open(io.BytesIO(pictures_of(server.bodies[0])[0]))
    assert (image.format, image.size) == ("JPEG", PixelPolicy().size(400, 200))


def test_a_chat_with_pictures_needs_their_store(make: Make) -> None:
    with pytest.raises(UsageError, match="images="):
        make().complete_sync(chat(image_block("IMG_001", "0" * 64)))


def test_native_tool_replies_may_keep_their_pictures(make: Make, server: FaultServer) -> None:
    images = ImageStore()
    make(dialect=Dialect(tool_pictures="inline")).complete_sync(searched(images), tools=[TOOL], images=images)
    roles = [message["role"] for message in server.bodies[0]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool"]
    reply = server.bodies[0]["messages"][3]
    assert [part["type"] for part in reply["content"]] == ["text", "image_url", "text", "image_url"]
    assert reply["tool_call_id"] == "call_1_1"
    asked = server.bodies[0]["messages"][2]
    assert asked["content"] == "Let me look."
    assert json.loads(asked["tool_calls"][1]["function"]["arguments"]) == {"url": "u", "prompt": "p"}


@pytest.mark.parametrize("goes_on", [False, True])
def test_native_tool_replies_send_their_pictures_after_them(make: Make, server: FaultServer, goes_on: bool) -> None:
    images = ImageStore()
    messages = searched(images) + ([{"role": "user", "content": [text_block("go on")]}] if goes_on else [])
    make().complete_sync(messages, tools=[TOOL], images=images)
    sent = server.bodies[0]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert sent[3]["content"].split("\n") == [
        "IMG_001 red",
        "(picture IMG_001: see below)",
        "IMG_002 blue",
        "(picture IMG_002: see below)",
    ]
    shown = [part.get("text", part["type"]) for part in sent[5]["content"]]
    assert shown == ["Picture IMG_001:", "image_url", "Picture IMG_002:", "image_url", *(["go on"] if goes_on else [])]
    assert len(pictures_of(server.bodies[0])) == 2


def test_hermes_tools_are_text(make: Make, server: FaultServer) -> None:
    images = ImageStore()
    server.script.append(say('I see.\n<tool_call>\n{"name": "crop_image", "arguments": {"image_id": "IMG_001"}}\n</tool_call>'))
    reply = make(dialect=Dialect("hermes")).complete_sync(searched(images), tools=[TOOL], images=images)
    (call,) = reply.action(turn=2).calls
    assert (call.name, call.arguments, call.id) == ("crop_image", {"image_id": "IMG_001"}, "call_2_1")
    body = server.bodies[0]
    assert "tools" not in body
    system, _, said, replied = body["messages"]
    assert system["content"].startswith("Find it.\n")
    assert json.loads(system["content"].splitlines()[-1]) == TOOL
    assert "{{" not in system["content"]
    assert [call.name for call in parse_action(said["content"]).calls] == ["image_search", "web_fetch"]
    parts = [part.get("text", part["type"]) for part in replied["content"]]
    opened, closed = "<tool_response>", "</tool_response>"
    assert parts == [opened, "IMG_001 red", "image_url", "IMG_002 blue", "image_url", closed, opened, "a page", closed]


def test_hermes_tools_without_a_system_prompt_get_one(make: Make, server: FaultServer) -> None:
    make(dialect=Dialect("hermes")).complete_sync(chat(), tools=[TOOL])
    assert [message["role"] for message in server.bodies[0]["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    "written",
    [
        json.dumps(GOOD),
        f"\n {json.dumps(GOOD)} ",
        f"Here:\n```json\n{json.dumps(GOOD)}\n```\ndone",
        f"<think>x</think>{json.dumps(GOOD)}",
    ],
)
def test_a_reply_that_fits_its_schema_is_read(make: Make, server: FaultServer, written: str) -> None:
    server.script.append(say(written))
    reply = make().complete_sync(chat(), schema=SCHEMA)
    assert reply.data == GOOD
    assert not reply.repaired
    assert server.calls == 1
    assert json.dumps(SCHEMA) in server.bodies[0]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("The scores are fine.", "not JSON"),
        (json.dumps({**GOOD, "scores": [0.4, 1]}), "at $.scores[0]: 0.4 is not one of [0, 0.5, 1]"),
        (json.dumps({**GOOD, "scores": [1]}), "at $.scores"),
        (json.dumps({**GOOD, "ok": "true"}), "at $.ok: 'true' is not of type 'boolean'"),
        (json.dumps({"scores": [1, 1]}), "'ok' is a required property"),
        (json.dumps({**GOOD, "extra": 1}), "'extra' was unexpected"),
        ('{"scores": [NaN, 1], "ok": true}', "NaN is not a finite number"),
        ('{"scores": [1e999, 1], "ok": true}', "1e999 is not a finite number"),
        ('{"scores": [1, 1], "ok": true, "ok": false}', "the key 'ok' is there twice"),
        (json.dumps(GOOD) + " " + json.dumps(GOOD), "not JSON"),
        (f"```\n{json.dumps(GOOD)}\n```\n```\n{json.dumps(GOOD)}\n```", "2 blocks"),
    ],
)
def test_a_reply_that_does_not_fit_is_repaired_once(make: Make, server: FaultServer, written: str, complaint: str) -> None:
    server.script += [say(written), say(json.dumps(GOOD))]
    model = make()
    reply = model.complete_sync(chat(), schema=SCHEMA)
    assert (reply.data, reply.repaired, reply.usage.calls) == (GOOD, True, 2)
    *_, said, asked = server.bodies[1]["messages"]
    assert said == {"role": "assistant", "content": written}
    assert asked["role"] == "user"
    assert complaint in asked["content"]
    assert model.usage.prompt_tokens == 200


def test_a_reply_that_does_not_fit_twice_is_an_error_with_what_was_said(make: Make, server: FaultServer) -> None:
    server.script += [say("no"), say('{"scores": [0.3], "ok": true}')]
    model = make()
    with pytest.raises(ReplyError, match=r"0\.3 is not one of") as caught:
        model.complete_sync(chat(), schema=SCHEMA)
    assert (caught.value.kind, caught.value.raw) == ("schema", '{"scores": [0.3], "ok": true}')
    assert server.calls == 2
    assert model.usage.calls == 2


@pytest.mark.parametrize("structured", ["words", "object", "schema"])
def test_a_schema_is_asked_for_as_the_endpoint_wants(make: Make, server: FaultServer, structured: Any) -> None:
    server.script.append(say(json.dumps(GOOD)))
    make(dialect=Dialect(structured=structured)).complete_sync(chat(), schema=SCHEMA)
    body = server.bodies[0]
    form = body.get("response_format", {})
    assert form.get("type") == {"words": None, "object": "json_object", "schema": "json_schema"}[structured]
    assert form.get("json_schema", {}).get("schema") == (SCHEMA if structured == "schema" else None)
    assert ("JSON schema" in body["messages"][0]["content"]) == (structured != "schema")


def test_a_schema_after_a_tool_reply_is_asked_for_by_the_user(make: Make, server: FaultServer) -> None:
    server.script.append(say(json.dumps(GOOD)))
    images = ImageStore()
    make(dialect=Dialect(tool_pictures="inline")).complete_sync(searched(images), schema=SCHEMA, images=images)
    assert server.bodies[0]["messages"][-1]["role"] == "user"


@pytest.mark.parametrize(
    ("schema", "says"), [({"type": "number of things"}, "not valid"), ({"$ref": "https://example.org/s.json"}, "refers to")]
)
def test_a_schema_that_is_none_is_refused(make: Make, server: FaultServer, schema: dict[str, Any], says: str) -> None:
    server.script.append(say("1"))
    with pytest.raises(ConfigError, match=says):
        make().complete_sync(chat(), schema=schema)
