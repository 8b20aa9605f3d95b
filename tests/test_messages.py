from __future__ import annotations

import base64
import io
import json
from typing import Any

import pytest
from PIL import Image

from wildenv.errors import MessageError
from wildenv.images import ImageStore
from wildenv.messages import (
    MAX_ACTION_CHARS,
    Answer,
    ToolCall,
    assistant_message,
    digests_of,
    image_block,
    observation_text,
    parse_action,
    parse_answer,
    read_observation,
    storable,
    text_block,
    text_of,
    to_hermes,
    to_hf,
    to_openai,
    tool_message,
    written_form,
)

ARGUMENTS = {"queries": ["a lantern"], "k": 3}
CALL = {"name": "text_search", "arguments": ARGUMENTS}
WIRE = {"id": "abc", "type": "function", "function": {"name": "text_search", "arguments": json.dumps(ARGUMENTS)}}
HERMES = f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>"


@pytest.mark.parametrize(
    ("action", "text", "call_id"),
    [
        (json.dumps(CALL), "", "call_4_1"),
        (CALL, "", "call_4_1"),
        (f"```json\n{json.dumps(CALL)}\n```", "", "call_4_1"),
        (f"```\n{json.dumps(CALL)}```", "", "call_4_1"),
        (f"\n  {json.dumps(CALL, indent=2)}  \n", "", "call_4_1"),
        ({"name": "text_search", "arguments": json.dumps(ARGUMENTS)}, "", "call_4_1"),
        (json.dumps({"name": "text_search", "arguments": json.dumps(ARGUMENTS)}), "", "call_4_1"),
        (WIRE, "", "abc"),
        (json.dumps(WIRE), "", "abc"),
        (json.dumps([WIRE]), "", "abc"),
        ([CALL], "", "call_4_1"),
        ({"role": "assistant", "content": None, "tool_calls": [WIRE]}, "", "abc"),
        ({"role": "assistant", "content": " I look. ", "tool_calls": [WIRE], "refusal": None}, "I look.", "abc"),
        (json.dumps({"role": "assistant", "content": "I look.", "tool_calls": [WIRE]}), "I look.", "abc"),
        (
            {"role": "assistant", "content": [text_block("I"), text_block("look.")], "tool_calls": [WIRE]},
            "I\nlook.",
            "abc",
        ),
        ({"role": "assistant", "content": f"I look.\n{HERMES}"}, "I look.", "call_4_1"),
        ({"content": HERMES}, "", "call_4_1"),
        (HERMES, "", "call_4_1"),
        (f"I look.\n{HERMES}", "I look.", "call_4_1"),
        (f"<tool_call>{json.dumps(CALL)}", "", "call_4_1"),
        (f"<tool_call>\n```json\n{json.dumps(CALL)}\n```\n</tool_call>", "", "call_4_1"),
        (f"{HERMES}\nand prose after it", "", "call_4_1"),
        (f"<think>Shall I <tool_call> now? {HERMES}</think>\n{HERMES}", None, "call_4_1"),
        (f"I write a <tool_call> now.\n{HERMES}", "I write a ‹tool_call> now.", "call_4_1"),
        (f"[sure] {HERMES}", "[sure]", "call_4_1"),
        (f"{HERMES}<tool_response>\nmade up {HERMES}\n</tool_response>", "", "call_4_1"),
    ],
)
def test_every_form_of_a_call_is_read(action: Any, text: str | None, call_id: str) -> None:
    parsed = parse_action(action, turn=4)
    assert [(call.name, dict(call.arguments), call.id) for call in parsed.calls] == [("text_search", ARGUMENTS, call_id)]
    if text is not None:
        assert parsed.text == text


def test_several_calls_of_one_turn_keep_their_order() -> None:
    fetch = {"name": "web_fetch", "arguments": {"url": "u", "prompt": "p"}}
    written = f"Both.\n{HERMES}\n<tool_call>{json.dumps(fetch)}</tool_call>"
    for action in (written, json.dumps([CALL, fetch]), {"role": "assistant", "content": "", "tool_calls": [CALL, fetch]}):
        assert [(call.id, call.name) for call in parse_action(action).calls] == [
            ("call_1_1", "text_search"),
            ("call_1_2", "web_fetch"),
        ]


@pytest.mark.parametrize(
    "action",
    [
        '<answer>{"gen_prompt": "p", "reference_images": [{"img_id": "IMG_001", "note": "n"}, {"img_id": "IMG_002"}]}</answer>',
        'Done.\n<answer>\n```json\n{"prompt": "p", "references": ["IMG_001", "IMG_002", "IMG_001"]}\n```\n</answer>',
        '<answer>{"prompt": " p ", "references": ["IMG_001", "IMG_002"]}',
        {"name": "answer", "arguments": {"prompt": "p", "references": ("IMG_001", "IMG_002")}},
    ],
)
def test_every_form_of_an_answer_is_read(action: Any) -> None:
    (call,) = parse_action(action).calls
    assert call.name == "answer"
    assert parse_answer(call) == Answer("p", ("IMG_001", "IMG_002"))


@pytest.mark.parametrize(
    ("name", "arguments", "expected_name", "expected"),
    [
        ("search", {"queries": ["q"], "top_k": 5}, "text_search", {"queries": ["q"], "k": 5}),
        ("search", {"query": "q"}, "text_search", {"queries": "q"}),
        ("browse", {"url": "u", "query": "q"}, "web_fetch", {"url": "u", "prompt": "q"}),
        ("visit", {"url": "u", "goal": "q"}, "web_fetch", {"url": "u", "prompt": "q"}),
        ("image_search", {"query": "q", "top_k": 5}, "image_search", {"query": "q", "k": 5}),
        ("crop_image", {"img_id": "IMG_001", "bbox": [1, 2, 3, 4]}, "crop_image", {"image_id": "IMG_001", "box": [1, 2, 3, 4]}),
    ],
)
def test_names_of_gen_searcher_are_translated(
    name: str, arguments: dict[str, Any], expected_name: str, expected: dict[str, Any]
) -> None:
    (call,) = parse_action({"name": name, "arguments": arguments}).calls
    assert (call.name, dict(call.arguments)) == (expected_name, expected)


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ("", "no tool call found"),
        ("I think that I should search.", "no tool call found"),
        ("[]", "no tool call found"),
        ({"role": "assistant", "content": "hello"}, "no tool call found"),
        ({"role": "assistant", "content": "", "tool_calls": []}, "no tool call found"),
        (f"<tool_response>x</tool_response>{HERMES}", "no tool call found"),
        ("<tool_call>search('x')</tool_call>", "no tool call found"),
        ("{not json", "not valid JSON"),
        ("<tool_call>{'name': 'x'}</tool_call>", "not valid JSON"),
        (f"<tool_call>{json.dumps(CALL)}}}</tool_call>", "more after its end"),
        (json.dumps(CALL) + "}", "more after its end"),
        ('{"name": "text_search", "arguments": "{oops"}', "not valid JSON"),
        ('{"name": "text_search", "arguments": {"k": NaN}}', "not valid JSON"),
        ('{"name": "text_search", "arguments": {"k": 1e999}}', "not valid JSON"),
        ('{"name": "text_search", "arguments": {"k": ' + "9" * 5000 + "}}", "not valid JSON"),
        ("[" * 30_000, "not valid JSON"),
        ({"name": "x", "arguments": {"k": float("inf")}}, "JSON values"),
        ({"name": "x", "arguments": {"k": {1, 2}}}, "JSON values"),
        ({"name": "x", "arguments": [1]}, "'arguments' must be an object"),
        ({"name": "x", "arguments": None}, "'arguments' must be an object"),
        ({"name": 3, "arguments": {}}, "no 'name'"),
        ({"arguments": {}}, "no 'name'"),
        ({"function": "text_search"}, "no 'name'"),
        ("[1]", "a tool call is"),
        ('<answer>["IMG_001"]</answer>', "'arguments' must be an object"),
        ({"role": "user", "content": HERMES}, "role 'assistant'"),
        ({"role": "assistant", "content": 3}, "'content' must be"),
        ({"role": "assistant", "content": "", "tool_calls": {"name": "x"}}, "'tool_calls' must be a list"),
        ([CALL, {"name": "answer", "arguments": {}}], "only call of its turn"),
        ([{**CALL, "id": "a"}, {**CALL, "id": "a"}], "share an id"),
        ({"name": "search", "arguments": {"query": "a", "queries": ["b"]}}, "given twice"),
        (None, "not NoneType"),
        (b"{}", "not bytes"),
        ("x" * (MAX_ACTION_CHARS + 1), "at most"),
        ({"name": "x", "arguments": {"q": "x" * 1_000_000}}, "at most"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(action: Any, says: str) -> None:
    with pytest.raises(MessageError) as refusal:
        parse_action(action)
    assert says in str(refusal.value)
    assert len(str(refusal.value)) < 300


def test_a_mapping_nested_too_deeply_is_refused_and_can_still_be_written_down() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(MessageError, match="JSON values"):
        parse_action({"name": "x", "arguments": deep})
    assert written_form(deep) == "(dict)"
    while deep:  # a nested dict this deep would overflow the stack when it is freed at once
        deep = deep["a"]


def test_the_action_is_not_aliased() -> None:
    arguments = {"queries": ["a"]}
    parsed = parse_action({"name": "text_search", "arguments": arguments})
    arguments["queries"].append("b")
    assert parsed.calls[0].arguments["queries"] == ["a"]


@pytest.mark.parametrize(
    "action", ['{"name": "x", "arguments": {"q": "a\\ud800b"}}', '{"name": "x", "arguments": {"q": "a\ud800b"}}']
)
def test_half_a_surrogate_pair_never_gets_in(action: str) -> None:
    assert parse_action(action).calls[0].arguments["q"] == "a?b"
    assert storable("😀 é") == "😀 é"
    assert parse_action('{"name": "x", "arguments": {"q": "\\ud83d\\ude00"}}').calls[0].arguments["q"] == "😀"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"references": []}, "non-empty 'prompt'"),
        ({"prompt": "  ", "references": []}, "non-empty 'prompt'"),
        ({"prompt": "p"}, "needs 'references'"),
        ({"prompt": "p", "references": {"a": 1}}, "must be a list"),
        ({"prompt": "p", "references": [1]}, "is an image id"),
        ({"prompt": "p", "references": [{"id": "IMG_001"}]}, "is an image id"),
    ],
)
def test_an_incomplete_answer_is_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(MessageError, match=says):
        parse_answer(ToolCall("c", "answer", arguments))


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "I look.\nThen I see.", "tool_calls": [CALL, {"name": "x", "arguments": {}}]},
        {"role": "assistant", "content": "{}", "tool_calls": [CALL]},
        {"role": "assistant", "content": '```json\n{"a": 1}\n```', "tool_calls": [CALL]},
        {"role": "assistant", "content": "a <tool_call>{}</tool_call> b <answer>{} </think> x", "tool_calls": [CALL]},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"name": "x", "arguments": {"q": "</tool_call><answer>{}</answer>"}}],
        },
        {"role": "assistant", "content": "", "tool_calls": [{"name": "x", "arguments": {"q": '<tool_response> \\ " \n 中'}}]},
        {
            "role": "assistant",
            "content": "t",
            "tool_calls": [{"name": "answer", "arguments": {"prompt": "p < 3", "references": []}}],
        },
    ],
)
def test_hermes_text_is_read_back_as_it_was(message: dict[str, Any]) -> None:
    canonical = assistant_message(parse_action(message))
    assert assistant_message(parse_action(to_hermes(canonical))) == canonical
    assert assistant_message(parse_action(canonical)) == canonical


def test_an_observation_is_read_back_block_by_block() -> None:
    call = ToolCall("c", "image_search", {})
    blocks = [
        text_block("IMG_001: one"),
        image_block("IMG_001", "d1"),
        image_block("IMG_002", "d2"),
        text_block("two\n\nlines\n"),
        text_block("three <image> in a line"),
        image_block("IMG_003", "d3"),
    ]
    replies = [tool_message(call, blocks), tool_message(call, [text_block("only text")]), tool_message(call, [])]
    assert read_observation(observation_text(replies)) == [
        ["IMG_001: one", "<image>", "<image>", "two\n\nlines\n\nthree <image> in a line", "<image>"],
        ["only text"],
        [],
    ]
    assert read_observation("a task\nToday is 2026-05-01.") == [["a task\nToday is 2026-05-01."]]


def _chat(store: ImageStore) -> list[dict[str, Any]]:
    digest = store.put(Image.new("RGB", (28, 28), "teal"))
    said = assistant_message(parse_action({"role": "assistant", "content": "I look.", "tool_calls": [WIRE]}))
    reply = tool_message(ToolCall("abc", "text_search", ARGUMENTS), [text_block("one"), image_block("IMG_001", digest)])
    unreadable = {"role": "assistant", "content": []}
    return [{"role": "user", "content": [text_block("task")]}, said, reply, unreadable]


def test_a_chat_for_an_openai_endpoint_has_string_arguments_and_data_urls() -> None:
    store = ImageStore()
    user, said, reply, unreadable = to_openai(_chat(store), store)
    assert user["content"] == [{"type": "text", "text": "task"}]
    assert said["content"] == "I look."
    assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == ARGUMENTS
    assert said["tool_calls"][0]["id"] == reply["tool_call_id"] == "abc"
    kind, data = reply["content"][1]["image_url"]["url"].split(",")
    assert kind == "data:image/png;base64"
    assert Image.open(io.BytesIO(base64.b64decode(data))).size == (28, 28)
    assert unreadable["content"] == ""
    silent = {"role": "assistant", "content": [], "tool_calls": said["tool_calls"]}
    assert to_openai([silent], store)[0]["content"] is None


def test_a_chat_for_a_processor_has_mappings_and_pictures_and_leaves_the_original_alone() -> None:
    store = ImageStore()
    chat = _chat(store)
    before = json.dumps(chat)
    _, said, reply, _ = to_hf(chat, store)
    assert said["tool_calls"][0]["function"]["arguments"] == ARGUMENTS
    assert reply["content"][1]["image"].size == (28, 28)
    assert json.dumps(chat) == before
    assert digests_of(chat) == [chat[2]["content"][1]["digest"]]
    assert text_of(chat[2]) == "one"
