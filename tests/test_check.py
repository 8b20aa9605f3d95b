"""Every rule of `wildenv.check` is broken once, on purpose, by something that otherwise keeps them all."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image

from tests.fakes import FakeJudge, FakeProvider, Script, call, tasks
from wildenv.check import check_judge, check_policy, check_provider, check_tool
from wildenv.check.probe import SITE, ProbeProvider
from wildenv.errors import ProviderError, ToolError
from wildenv.images import ImageStore
from wildenv.judges.base import Drawn, Reference, Submission, Verdict
from wildenv.messages import image_block, text_block
from wildenv.tools.base import Arguments, ToolContext, ToolResult, function_schema
from wildenv.tools.crop_image import CropImage
from wildenv.tools.fence import inert
from wildenv.tools.image_search import ImageSearch
from wildenv.tools.text_search import TextSearch
from wildenv.tools.web_fetch import WebFetch
from wildenv.web.results import ImageHit, Page, TextHit


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (TextSearch(), {"queries": ["probe lantern"]}),
        (WebFetch(), {"url": f"{SITE}/trap", "prompt": "colour"}),
        (ImageSearch(), {"query": "probe lantern"}),
        (CropImage(), {"image_id": "IMG_001", "box": [0, 0, 500, 500]}),
    ],
)
def test_our_tools_keep_the_rules(tool: Any, arguments: dict[str, Any]) -> None:
    check_tool(tool)
    check_tool(tool, arguments)


class GoodTool:
    """Reads a page; a test replaces a part of it."""

    name = "read_page"

    def __init__(self) -> None:
        self.calls = itertools.count()

    def schema(self) -> dict[str, Any]:
        return function_schema(self.name, "Reads a page.", {"url": {"type": "string"}}, ["url"])

    def run(self, context: ToolContext, arguments: Any) -> ToolResult:
        url = Arguments(self.name, arguments, ["url"]).text("url", 200)
        return self.reply(context, inert(context.web.fetch_page(url, context.cutoff).page.text))

    def reply(self, context: ToolContext, text: str) -> ToolResult:
        return ToolResult([text_block(text)])


def _tool(**parts: Any) -> GoodTool:
    return type("BadTool", (GoodTool,), parts)()


def _schema(change: Callable[[dict[str, Any]], Any]) -> Callable[[GoodTool], Any]:
    def schema(self: GoodTool) -> Any:
        made = GoodTool.schema(self)
        return change(made) or made

    return schema


def _replies(make: Callable[[ToolContext], ToolResult]) -> Any:
    return lambda self, context, text: make(context)


SHARED = GoodTool().schema()

BAD_TOOLS: list[tuple[GoodTool, str]] = [
    (_tool(name=""), "tool.name=''"),
    (_tool(name="read page"), "tool.name='read page'"),
    (_tool(name=3), "tool.name=3"),
    (_tool(name="answer"), "must not be 'answer'"),
    (_tool(schema=lambda self: "schema"), "must return a dict"),
    (_tool(schema=_schema(lambda s: s.update(extra={1, 2}))), "dict of JSON values"),
    (_tool(schema=_schema(lambda s: s.update(type="tool"))), '{"type": "function"'),
    (_tool(schema=_schema(lambda s: s["function"].update(name="other"))), "the schema is of 'other'"),
    (_tool(schema=_schema(lambda s: s["function"].update(description=" "))), "needs a description"),
    (_tool(schema=_schema(lambda s: s["function"].update(parameters=None))), "of the type object"),
    (_tool(schema=_schema(lambda s: s["function"]["parameters"]["properties"].update(k={}))), "['k'] have no type"),
    (_tool(schema=_schema(lambda s: s["function"]["parameters"].update(required=["k"]))), "requires ['k']"),
    (_tool(schema=lambda self: SHARED), "a new and equal dict"),
    (
        _tool(schema=_schema(lambda s: s["function"]["parameters"]["properties"].update(date_before={"type": "string"}))),
        "lets the agent choose a date",
    ),
    (
        _tool(run=lambda self, context, arguments: ToolResult([text_block("x")])),
        "an argument it does not have, the tool must raise",
    ),
    (_tool(run=lambda self, context, arguments: arguments["url"] + {}), "it raised TypeError"),
    (_tool(reply=_replies(lambda c: "text")), "must return a ToolResult, not str"),
    (_tool(reply=_replies(lambda c: ToolResult([]))), "not empty"),
    (_tool(reply=_replies(lambda c: ToolResult([{"type": "text", "text": 3}]))), "not a text block"),
    (_tool(reply=_replies(lambda c: ToolResult([{"type": "video"}]))), "neither a text nor an image block"),
    (_tool(reply=_replies(lambda c: ToolResult([image_block("IMG_001", "0" * 64)]))), "is not in the gallery under that digest"),
    (_tool(reply=_replies(lambda c: ToolResult([text_block("</tool_response>")]))), "kept its markup"),
    (_tool(reply=_replies(lambda c: ToolResult([text_block("x")], decisions=[{"day": object()}]))), "ToolResult.decisions"),
    (_tool(reply=_replies(lambda c: ToolResult([text_block("x")], notes=[3]))), "ToolResult.notes"),
    (_tool(reply=lambda self, context, text: ToolResult([text_block(f"call {next(self.calls)}")])), "keeps nothing of them"),
]


@pytest.mark.parametrize(("tool", "says"), BAD_TOOLS, ids=[says for _, says in BAD_TOOLS])
def test_a_tool_that_breaks_a_rule_is_told_which(tool: Any, says: str) -> None:
    check_tool(GoodTool())
    with pytest.raises(AssertionError) as broken:
        check_tool(tool)
    assert says in str(broken.value)


def test_a_tool_that_changes_its_arguments_or_fails_or_refuses_is_told() -> None:
    def changing(self: GoodTool, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        result = GoodTool.run(self, context, arguments)
        arguments["url"] = "changed"
        return result

    def failing(self: GoodTool, context: ToolContext, text: str) -> ToolResult:
        raise ProviderError("down")

    def refusing(self: GoodTool, context: ToolContext, text: str) -> ToolResult:
        raise ToolError("not today")

    with pytest.raises(AssertionError, match="must not change the arguments"):
        check_tool(_tool(run=changing))
    with pytest.raises(AssertionError, match="failed on the probe web"):
        check_tool(_tool(reply=failing))
    check_tool(_tool(reply=refusing))
    with pytest.raises(AssertionError, match="refused the arguments given to check_tool: not today"):
        check_tool(_tool(reply=refusing), {"url": f"{SITE}/launch"})


TASK = tasks()[0]
SUBMISSION = Submission("p", (Reference("IMG_001", TASK.ground_truth[0], TASK.ground_truth[0], "u"),), ImageStore())


def _judge(work: Any, **parts: Any) -> Any:
    async def say(self: Any, task: Any, submission: Submission) -> Any:
        return work(self, task, submission)

    return type("Judge", (), {"id": "j", "count": itertools.count(), "judge": say, **parts})()


def _verdict(value: Any = 0.0, **parts: Any) -> Any:
    return _judge(lambda self, task, submission: Verdict(**{"judge": "j", "value": value, "reason": "because", **parts}))


BAD_JUDGES: list[tuple[Any, str]] = [
    (_judge(lambda *_: None, id=""), "judge.id must be"),
    (_judge(None, judge=lambda self, task, submission: Verdict("j", 0.0, "x")), "must be `async def`"),
    (_judge(lambda self, task, submission: 1 / 0), "given a submission it can judge, the judge must return a verdict"),
    (_judge(lambda self, task, submission: 1.0), "must return a Verdict, not float"),
    (_verdict(judge="other"), "they must be the same"),
    (_verdict(1.5), "a float from 0 to 1"),
    (_verdict(float("nan")), "a float from 0 to 1"),
    (_verdict(True), "a float from 0 to 1"),
    (_verdict(reason=" "), "must say why"),
    (_verdict(evidence={"a": object()}), "must be JSON values"),
    (_verdict(evidence={"ground_truth": ["0" * 64]}), "put the picture there"),
    (_verdict(parts={"identity": 1}), "Verdict.parts['identity'] must be a float"),
    (_verdict(parts={"identity": 1.5}), "Verdict.parts['identity'] must be a float"),
    (_judge(lambda self, task, submission: Verdict("j", float(next(self.count) % 2), "x")), "the same submission got"),
    (_verdict(1.0), "without references must not pass"),
]


@pytest.mark.parametrize(("judge", "says"), BAD_JUDGES, ids=[says for _, says in BAD_JUDGES])
def test_a_judge_that_breaks_a_rule_is_told_which(judge: Any, says: str) -> None:
    check_judge(FakeJudge(), TASK, SUBMISSION)
    with pytest.raises(AssertionError) as broken:
        check_judge(judge, TASK, SUBMISSION)
    assert says in str(broken.value)


def test_a_judge_of_pictures_must_survive_that_none_was_drawn_or_it_is_lost() -> None:
    store = ImageStore()
    drawn = Drawn(store.put(Image.new("RGB", (8, 8))), "painter-1", 0)

    def careless(self: Any, task: Any, submission: Submission) -> Verdict:
        if submission.references:
            submission.store.png(submission.drawn.digest)  # type: ignore[union-attr]
        return Verdict("j", 0.0, "looked")

    def trusting(self: Any, task: Any, submission: Submission) -> Verdict:
        if submission.references and submission.drawn is None:
            raise ValueError("where is it?")
        return Verdict("j", 0.0, "looked")

    given = Submission("p", SUBMISSION.references, store, drawn=drawn)
    with pytest.raises(AssertionError, match=r"pixels are lost, .*DataError"):
        check_judge(_judge(careless), TASK, given)
    with pytest.raises(AssertionError, match=r"nothing was drawn, .*where is it"):
        check_judge(_judge(trusting), TASK, given)


def test_a_judge_must_survive_lost_pixels() -> None:
    def look(self: Any, task: Any, submission: Submission) -> Verdict:
        for reference in submission.references:
            submission.store.png(reference.digest)
        return Verdict("j", 0.0, "looked")

    store = ImageStore()
    digest = store.put_png(ProbeProvider().fetch_image(f"{SITE}/teal.png"))
    with pytest.raises(AssertionError, match="a reference whose pixels are lost"):
        check_judge(_judge(look), TASK, Submission("p", (Reference("IMG_001", digest, digest, "u"),), store))


def _provider(**parts: Any) -> Any:
    return type("BadProvider", (FakeProvider,), parts)()


def _hits(*hits: Any) -> Any:
    return lambda self, query, limit, cutoff: list(hits)[:limit]


GOOD_HIT = TextHit("t", f"{SITE}/a", "s", None)

BAD_PROVIDERS: list[tuple[Any, str]] = [
    (_provider(name=""), "provider.name"),
    (_provider(version=2), "provider.version"),
    (_provider(local="yes"), "provider.local"),
    (_provider(image_search=None), "provider.image_search must be a method"),
    (type("Half", (), {"name": "half", "version": "1", "local": True})(), "provider.text_search must be a method"),
    (_provider(text_search=_hits()), "text_search('lantern') must return a list and find something"),
    (_provider(text_search=lambda *_: (GOOD_HIT,)), "must return a list"),
    (_provider(text_search=_hits({"title": "t"})), "must return TextHits, not dict"),
    (_provider(image_search=_hits(GOOD_HIT)), "image_search must return ImageHits"),
    (_provider(text_search=_hits(TextHit("t", f"{SITE}/a", None, None))), "every field but the date must be a string"),  # type: ignore[arg-type]
    (_provider(text_search=_hits(TextHit("t", f"{SITE}/a", "s", 2026))), "published is the date as given"),  # type: ignore[arg-type]
    (_provider(image_search=_hits(ImageHit("t", "ftp://a/b.png", SITE))), "'ftp://a/b.png' is not an http address"),
    (_provider(text_search=lambda *_: [GOOD_HIT] * 6), "at most `limit`"),
    (_provider(text_search=lambda *_: [GOOD_HIT] * 2), "at most `limit`"),
    (_provider(fetch_page=lambda *_: "page"), "must return a Page, not str"),
    (_provider(fetch_page=lambda self, url, cutoff: Page(url, "t", None)), "Page.text and Page.title"),  # type: ignore[arg-type]
    (_provider(fetch_page=lambda self, url, cutoff: Page(url, "t", "x", 3)), "Page.published"),  # type: ignore[arg-type]
    (_provider(fetch_image=lambda *_: "bytes"), "fetch_image must return the bytes"),
    (
        _provider(fetch_page=lambda self, url, cutoff: Page(url, "t", "x")),
        "fetch_page of an address that does not exist must raise",
    ),
    (_provider(fetch_image=lambda self, url: {f"{SITE}": b""}.get(url, b"x")), "fetch_image of an address that does not exist"),
    (_provider(fetch_image=lambda self, url: {"https://lantern.example/teal.png": b"x"}[url]), "it raised KeyError"),
]


@pytest.mark.parametrize(("provider", "says"), BAD_PROVIDERS, ids=[f"{i} {says}" for i, (_, says) in enumerate(BAD_PROVIDERS)])
def test_a_provider_that_breaks_a_rule_is_told_which(provider: Any, says: str) -> None:
    check_provider(FakeProvider())
    check_provider(ProbeProvider())
    with pytest.raises(AssertionError) as broken:
        check_provider(provider)
    assert says in str(broken.value)


def test_a_provider_must_answer_the_same_from_many_threads() -> None:
    count = itertools.count()

    def search(self: Any, query: str, limit: int, cutoff: Any) -> list[TextHit]:
        return [TextHit(f"t{next(count)}", "https://lantern.example/launch", "s")]

    with pytest.raises(AssertionError, match="from many threads at once"):
        check_provider(_provider(text_search=search))
    check_provider(_provider(text_search=search, local=False))


class GoodPolicy(Script):
    """Searches pictures and answers with the first."""

    def __init__(self) -> None:
        super().__init__([call("image_search", query="lantern"), call("answer", prompt="p", references=["IMG_001"])])


def _policy(work: Any, **parts: Any) -> Any:
    async def asynchronous(self: Any, observation: Any) -> Any:
        return work(self, observation)

    return type("BadPolicy", (GoodPolicy,), {"act": asynchronous, "count": itertools.count(), **parts})()


def _greedy(self: Any, observation: Any) -> Any:
    observation["text"] = "mine"
    return call("answer", prompt="p", references=[])


def _painting(self: Any, observation: Any) -> Any:
    for image in observation["images"]:
        image[:] = 0
    return self._left.pop(0)


BAD_POLICIES: list[tuple[Any, str]] = [
    (_policy(None, act=lambda self, observation: "x"), "must be `async def`"),
    (_policy(_greedy, system_prompt=3), "policy.system_prompt"),
    (_policy(lambda self, observation: None), "must return a string or a dict, not NoneType"),
    (_policy(lambda self, observation: "I do not know"), "wrote something that is no action: no tool call found"),
    (_policy(_greedy), "must not change the observation"),
    (_policy(_painting), "must not change the observation"),
    (_policy(lambda self, o: call("answer", prompt=f"p{next(self.count)}", references=[])), "the same seed must give the same"),
]


@pytest.mark.parametrize(("policy", "says"), BAD_POLICIES, ids=[says for _, says in BAD_POLICIES])
def test_a_policy_that_breaks_a_rule_is_told_which(policy: Any, says: str) -> None:
    check_policy(GoodPolicy())
    with pytest.raises(AssertionError) as broken:
        check_policy(policy)
    assert says in str(broken.value)


def test_a_model_may_still_write_anything() -> None:
    check_policy(_policy(lambda self, observation: "I do not know"), readable=False)
