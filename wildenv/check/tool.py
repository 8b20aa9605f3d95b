"""The rules for a tool."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from wildenv.budget import Budget, Limits
from wildenv.check.probe import SITE, TASK, ProbeProvider
from wildenv.check.rule import is_json, require
from wildenv.disarm import disarm
from wildenv.errors import InfrastructureError, ToolError, told
from wildenv.images import Gallery, ImageStore, PixelPolicy, decode
from wildenv.messages import ANSWER
from wildenv.tools.base import Tool, ToolContext, ToolResult
from wildenv.web.client import WebClient

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DATES = {"cutoff", "date", "dates", "before", "until", "day"}


def check_tool(tool: Tool, arguments: Mapping[str, Any] | None = None) -> None:
    """Checks a tool on the probe web.

    Args:
        tool: The tool.
        arguments: A call that the tool must be able to carry out on `wildenv.check.probe`; made up from the schema if None, and
            the tool may then refuse it.

    Raises:
        AssertionError: At the first rule that is broken.
    """
    _has_a_name(tool)
    _schema_is_openai_s(tool)
    _schema_is_fresh(tool)
    _takes_no_date(tool)
    _refuses_nonsense(tool)
    given = dict(arguments) if arguments is not None else _made_up(tool)
    first = _runs(tool, given, must=arguments is not None)
    if first is not None:
        result, context = first
        _blocks_are_blocks(result, context)
        _text_is_inert(result)
        _records_are_json(result)
    _keeps_no_state(tool, given, None if first is None else first[0])


def _has_a_name(tool: Tool) -> None:
    name = getattr(tool, "name", None)
    require(isinstance(name, str) and _NAME.fullmatch(name), f"tool.name={name!r} must be 1 to 64 letters, digits, '_' or '-'")
    require(name != ANSWER, "tool.name must not be 'answer': the environment carries that call out itself")


def _schema_is_openai_s(tool: Tool) -> None:
    schema = tool.schema()
    require(isinstance(schema, dict) and is_json(schema), "tool.schema() must return a dict of JSON values")
    function = schema.get("function")
    require(
        schema.get("type") == "function" and isinstance(function, dict),
        'tool.schema() must be {"type": "function", "function": {...}}; see wildenv.tools.base.function_schema',
    )
    assert isinstance(function, dict)
    require(function.get("name") == tool.name, f"the schema is of {function.get('name')!r}, the tool is {tool.name!r}")
    require(isinstance(function.get("description"), str) and function["description"].strip(), "the schema needs a description")
    parameters = function.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    require(
        isinstance(properties, dict) and isinstance(parameters, dict) and parameters.get("type") == "object",
        "the schema's parameters must be of the type object and have properties",
    )
    assert isinstance(properties, dict)
    assert isinstance(parameters, dict)
    untyped = [name for name, field in properties.items() if not {"type", "enum", "anyOf"} & set(field)]
    require(not untyped, f"the schema's parameters {untyped} have no type")
    lost = sorted(set(parameters.get("required", [])) - set(properties))
    require(not lost, f"the schema requires {lost}, which are not among its properties")


def _schema_is_fresh(tool: Tool) -> None:
    first = tool.schema()
    before = copy.deepcopy(first)
    first["function"]["parameters"]["properties"].clear()
    require(tool.schema() == before, "tool.schema() must return a new and equal dict each time: callers may change theirs")


def _takes_no_date(tool: Tool) -> None:
    for name in tool.schema()["function"]["parameters"]["properties"]:
        require(
            not _DATES & set(name.lower().split("_")),
            f"the parameter {name!r} lets the agent choose a date; the cutoff is context.cutoff and in no schema",
        )


def _refuses_nonsense(tool: Tool) -> None:
    parameters = tool.schema()["function"]["parameters"]
    good = _made_up(tool)
    nonsense: list[tuple[str, dict[str, Any]]] = [("an argument it does not have", {**good, "no_such_argument": 1})]
    nonsense += [(f"no {name!r}", {k: v for k, v in good.items() if k != name}) for name in parameters.get("required", [])]
    nonsense += [(f"{name!r} of a wrong type", {**good, name: {"wrong": ["type"]}}) for name in parameters["properties"]]
    for what, arguments in nonsense:
        try:
            tool.run(_context(), arguments)
        except ToolError:
            continue
        except Exception as error:
            raise AssertionError(
                f"given {what}, the tool must raise ToolError, which the agent can read; it raised {told(error)}"
            ) from error
        raise AssertionError(f"given {what}, the tool must raise ToolError; it went on. wildenv.tools.base.Arguments helps")


def _runs(tool: Tool, arguments: dict[str, Any], must: bool) -> tuple[ToolResult, ToolContext] | None:
    before = copy.deepcopy(arguments)
    context = _context()
    try:
        result = tool.run(context, arguments)
    except ToolError as error:
        require(not must, f"the tool refused the arguments given to check_tool: {error}")
        return None
    except InfrastructureError as error:
        raise AssertionError(f"the tool failed on the probe web, which does not fail: {error}") from error
    require(arguments == before, "the tool must not change the arguments: they are part of the record")
    require(isinstance(result, ToolResult), f"tool.run must return a ToolResult, not {type(result).__name__}")
    return result, context


def _blocks_are_blocks(result: ToolResult, context: ToolContext) -> None:
    require(
        isinstance(result.blocks, list) and result.blocks, "ToolResult.blocks must be a list that is not empty: say so in words"
    )
    for block in result.blocks:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text":
            require(set(block) == {"type", "text"} and isinstance(block["text"], str), f"not a text block: {block!r}")
        else:
            require(kind == "image" and set(block) == {"type", "id", "digest"}, f"neither a text nor an image block: {block!r}")
            known = {record.id: record.digest for record in context.gallery}
            require(
                known.get(block["id"]) == block["digest"],
                f"the picture {block['id']!r} is not in the gallery under that digest: show what gallery.add or crop returned",
            )


def _text_is_inert(result: ToolResult) -> None:
    for block in result.blocks:
        if block["type"] == "text":
            require(
                disarm(block["text"]) == block["text"],
                f"text from the web kept its markup; pass it through wildenv.tools.fence.inert: {block['text'][:200]!r}",
            )


def _records_are_json(result: ToolResult) -> None:
    require(
        isinstance(result.decisions, list)
        and all(isinstance(row, dict) for row in result.decisions)
        and is_json(result.decisions),
        "ToolResult.decisions must be a list of dicts of JSON values: use Decision.to_dict",
    )
    require(
        isinstance(result.notes, list) and all(isinstance(note, str) for note in result.notes),
        "ToolResult.notes must be a list of strings",
    )


def _keeps_no_state(tool: Tool, arguments: dict[str, Any], first: ToolResult | None) -> None:
    again = _runs(tool, arguments, must=False)
    require(
        (None if again is None else again[0]) == first,
        "the same call in a new episode must give the same result: one instance serves many episodes and keeps nothing of them",
    )


def _context() -> ToolContext:
    pixels = PixelPolicy()
    gallery = Gallery(ImageStore(), pixels)
    gallery.add(decode(ProbeProvider().fetch_image(f"{SITE}/teal.png")), url=f"{SITE}/teal.png", page=SITE, title="teal")
    return ToolContext(WebClient(ProbeProvider(), mode="live"), gallery, Budget(Limits(), pixels), TASK.cutoff)


def _made_up(tool: Tool) -> dict[str, Any]:
    """Returns arguments that fit the schema and, going by their names, the probe web."""
    properties = tool.schema()["function"]["parameters"]["properties"]
    return {name: _value(name, field) for name, field in properties.items()}


def _value(name: str, field: Mapping[str, Any]) -> Any:
    for choice in ("default", "minimum"):
        if choice in field:
            return field[choice]
    if field.get("enum"):
        return field["enum"][0]
    kind = field.get("type")
    if kind == "array":
        count = max(1, int(field.get("minItems", 1)))
        if name in ("box", "bbox"):
            return [100, 100, 900, 900]
        return [_value(name, field.get("items", {"type": "string"})) for _ in range(count)]
    if kind in ("integer", "number"):
        return 1
    if kind == "boolean":
        return True
    if kind == "object":
        return {}
    if "url" in name:
        return f"{SITE}/trap"
    return "IMG_001" if "image" in name or "img" in name else "probe lantern"
