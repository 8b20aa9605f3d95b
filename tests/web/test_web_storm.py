"""All of it: 32 episodes at once in a web where nothing works as it should, then a resume, then a replay without a network."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.web import hostile_bodies as bodies
from tests.web.storm import EPISODES, LOG, STORE, Storm, Toll, Wanderer, environment, play_apart
from tests.web.storm_web import FAILING, KEY, StormWeb, page_of, picture_of, storm_web, weather
from wildenv.difference import episode_difference
from wildenv.episode import INFRASTRUCTURE, ROWS, Episode, LatestEpisodes, read_episodes
from wildenv.rollout import rollout
from wildenv.secrets import HIDDEN
from wildenv.testing import sockets_blocked
from wildenv.web.client import WebClient
from wildenv.web.packs.pack import export_pack, open_pack, verify_pack
from wildenv.web.request import WEB_TOOLS, WebRequest
from wildenv.web.store import Store

pytestmark = [pytest.mark.loopback, pytest.mark.slow]

HUGE_SIDE = 4_000
MOST_MB = 1_200
"""Resident memory of the process that plays: some 200 are the process, the rest is room for pictures (`web.picture`)."""

WALL_S = 150.0
SLACK_S = 10.0
"""Tests run on machines that are busy with other tests."""

SERVICE_KINDS = {"http 500", "http 429", "timeout", "protocol", "not json", "too large", "unexpected reply", "deadline"}


def test_a_storm_is_recorded_resumed_and_replayed(tmp_path: Path) -> None:
    with storm_web(HUGE_SIDE) as web:
        storm = Storm.over(web, tmp_path / "run")
        toll = play_apart(storm, WALL_S)
        episodes = list(read_episodes(tmp_path / "run" / EPISODES))
        with Store(tmp_path / "run" / STORE, read_only=True) as store:
            check_nothing_hung_or_crashed(storm, toll, episodes, MOST_MB)
            check_failures_have_names(storm, toll, episodes)
            check_services_are_not_the_agent_s_fault(toll, episodes)
            check_all_were_told_the_same(episodes)
            check_only_answers_are_stored(web, store, HUGE_SIDE)
            check_gaps_are_requests(store)
        check_the_key_is_nowhere(tmp_path / "run", toll)
        web.calm.set()
        check_a_resume_rolls_what_failed(storm, play_apart(storm, WALL_S), episodes)
    check_a_replay_is_the_same(storm, tmp_path)


def check_nothing_hung_or_crashed(storm: Storm, toll: Toll, episodes: list[Episode], most_mb: float) -> None:
    assert sorted(episode.task_id for episode in episodes) == storm.task_ids
    assert toll.rolled == len(episodes)
    assert set(toll.end_reasons) == {"answered", "web"}, "a failure of the web is not one of a tool, a policy or the clock"
    assert toll.end_reasons["answered"] > len(episodes) / 3
    assert toll.end_reasons["web"] > 4
    assert max(seconds for episode in episodes for seconds in episode.timings) < storm.tool_s + SLACK_S
    assert toll.peak_mb < most_mb
    assert toll.files[1] <= toll.files[0] + 1
    assert [name for name in toll.threads if name != "tqdm_monitor"] == []
    assert "Traceback" not in toll.noise


def check_failures_have_names(storm: Storm, toll: Toll, episodes: list[Episode]) -> None:
    failed = [episode for episode in episodes if episode.end_reason in INFRASTRUCTURE]
    said = rf"(text|image)_search: ProviderError: {storm.search} .+; .+|\w+: DeadlineExceeded: .+env\.tool_deadline_s.+"
    for episode in failed:
        assert re.fullmatch(said, episode.failure or "", re.DOTALL), episode.failure
    counted = {tool: Counter(kinds) for tool, kinds in toll.web["failures"].items()}
    assert set(counted["text_search"] | counted["image_search"]) <= SERVICE_KINDS
    assert len(counted["text_search"] | counted["image_search"]) >= 4
    assert len(counted["fetch_page"]) >= 10
    steps = [(episode, step) for episode in episodes for step in episode.steps]
    bad = Counter(step["name"] for _, step in steps if not step["ok"] and not step["error"].endswith("is not available"))
    assert bad["text_search"] == counted["text_search"].total()
    assert bad["web_fetch"] == counted["fetch_page"].total()
    refused = sum("ProviderError" in step["error"] for _, step in steps if step["name"] == "image_search")
    assert refused == counted["image_search"].total() - counted["image_search"]["deadline"]
    late = sum("DeadlineExceeded" in step["error"] for _, step in steps if step["name"] != "crop_image")
    assert late <= sum(kinds["deadline"] for kinds in counted.values())
    notes = [note for _, step in steps for note in step["notes"] if note.startswith("http://127.0.0.1")]
    lost = sum(": same picture as " not in note for note in notes)
    # What a picture search that ended its episode had met before is counted, but its notes are lost with it.
    assert lost <= counted["fetch_image"].total()
    if bad["image_search"] == refused:
        assert lost == counted["fetch_image"].total()


def check_services_are_not_the_agent_s_fault(toll: Toll, episodes: list[Episode]) -> None:
    judged = []
    for episode in episodes:
        queries = list(_queries(episode))
        if episode.end_reason == "answered":
            assert [step for step in episode.steps if step["name"].endswith("_search") and not step["ok"]] == []
            assert [query for query in queries if weather(*query) in FAILING] == []
            assert episode.reward_valid
            judged += [episode.task_id] * bool(episode.answer and episode.answer["references"])
            continue
        assert (episode.reward_valid, episode.reward, episode.rewards, episode.verdicts) == (False, 0.0, {}, [])
        assert episode.answer is None
        if "ProviderError" in (episode.failure or "") and "did not answer within" not in (episode.failure or ""):
            assert any(weather(*query) in FAILING for query in queries[-2:]), (queries, episode.failure)
    assert sorted(toll.judged) == sorted(judged)
    assert len(judged) > 5


def check_all_were_told_the_same(episodes: list[Episode]) -> None:
    """An address that could not be had by one episode was had by no other."""
    told: dict[str, set[str]] = {}
    for episode in episodes:
        names = {step["call"]: step for step in episode.steps}
        for message in episode.messages:
            for one in message.get("tool_calls", []):
                step = names.get(one["id"])
                if step is not None and one["function"]["name"] == "web_fetch" and "DeadlineExceeded" not in step["error"]:
                    told.setdefault(one["function"]["arguments"]["url"], set()).add(step["error"])
    assert {url: said for url, said in told.items() if len(said) > 1} == {}
    shared = Counter(note for episode in episodes for step in episode.steps for note in set(step["notes"]))
    assert max(shared.values()) > 2
    lost = {note.partition(": ")[0] for note in shared if note.endswith("try another address")}
    seen = {image["url"] for episode in episodes for image in episode.images}
    assert len(lost) > 5
    assert lost & seen == set()


def check_only_answers_are_stored(web: StormWeb, store: Store, huge_side: int) -> None:
    entries = store.digests(WEB_TOOLS)
    for row in store.rows([entry[:2] for entry in entries]):
        request = WebRequest.from_dict(json.loads(row.request))
        assert request.key == row.key
        response = json.loads(row.response)
        if row.tool == "fetch_image":
            right = _is_picture(web, request.text, response, store, huge_side)
        elif row.tool == "fetch_page":
            right = _is_page(web, request.text, response)
        else:
            right = _is_found(web, "images" if row.tool == "image_search" else "search", request.params, response)
        assert right, (request.text, row.response[:300])
    kinds = Counter(tool for tool, _, _ in entries)
    assert min(kinds[tool] for tool in ("text_search", "image_search", "fetch_page", "fetch_image")) > 20


def check_gaps_are_requests(store: Store) -> None:
    gaps = store.gaps(WEB_TOOLS)
    assert {gap.tool for gap in gaps} == {"fetch_page", "fetch_image"}
    for gap in gaps:
        request = WebRequest.from_dict(json.loads(gap.request))
        assert (request.key, request.tool) == (gap.key, gap.tool)
        assert store.get(gap.tool, gap.key) is None


def check_the_key_is_nowhere(folder: Path, toll: Toll) -> None:
    assert len((folder / LOG).read_bytes()) > 10_000
    assert HIDDEN.encode() in (folder / STORE).read_bytes() + (folder / f"{STORE}-wal").read_bytes()
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 20
    assert [path.name for path in files if KEY.encode() in path.read_bytes()] == []
    assert KEY not in json.dumps(asdict(toll))
    # Bodies that came with an error, or were no answer.
    stored = b"".join(path.read_bytes() for path in folder.glob(f"{STORE}*"))
    for body in (b"Error 4", b"Error 5", b"slow down", b"a moment", b"MZ\x90", b"root:", b"220 mail"):
        assert body not in stored, body


def check_a_resume_rolls_what_failed(storm: Storm, toll: Toll, before: list[Episode]) -> None:
    failed = sorted(episode.task_id for episode in before if episode.end_reason in INFRASTRUCTURE)
    assert (toll.rolled, toll.kept) == (len(failed), len(before) - len(failed))
    now = list(read_episodes(Path(storm.folder) / EPISODES))
    assert [episode.digest() for episode in now[: len(before)]] == [episode.digest() for episode in before]
    assert sorted(episode.task_id for episode in now[len(before) :]) == failed
    again = [episode for episode in now[len(before) :] if episode.end_reason in INFRASTRUCTURE]
    assert [episode.failure for episode in again if "ProviderError" in (episode.failure or "")] == []
    assert len(again) < len(failed) / 2


def check_a_replay_is_the_same(storm: Storm, folder: Path) -> None:
    pack = folder / "storm.pack"
    with Store(folder / "run" / STORE) as store:
        digest = export_pack(store, pack)
    report = verify_pack(pack)
    assert report.digest == digest
    assert report.gaps["fetch_page"] > 5
    recorded = {episode.task_id: episode for episode in LatestEpisodes(folder / "run" / EPISODES)}
    valid = [name for name, episode in recorded.items() if episode.end_reason not in INFRASTRUCTURE]
    with sockets_blocked(), open_pack(pack) as kept:
        web = WebClient(mode="replay", store=kept, overfetch=1)
        summary = asyncio.run(
            rollout(
                lambda: environment(storm, web),
                lambda: Wanderer(storm.queries),
                valid,
                folder / "again",
                seed=storm.seed,
                progress=False,
            )
        )
        assert summary.failures == []
        assert "not recorded" not in json.dumps(web.failures)
        for episode in LatestEpisodes(folder / "again"):
            first = recorded[episode.task_id]
            assert episode_difference(first, episode, ignore=frozenset({"web"})) == ""
            assert replace(episode, web=first.web).digest() == first.digest()
            assert episode.web == digest
    assert (folder / "again" / ROWS).read_bytes().count(b"\n") == len(valid) > len(recorded) * 0.8


def _queries(episode: Episode) -> Iterator[tuple[str, str]]:
    for message in episode.messages:
        for function in (one["function"] for one in message.get("tool_calls", [])):
            given = function["arguments"]
            if function["name"] == "text_search":
                yield from (("search", query) for query in given["queries"])
            elif function["name"] == "image_search":
                yield "images", given["query"]


def _is_found(web: StormWeb, kind: str, params: Mapping[str, Any], response: dict[str, Any]) -> bool:
    hits = web.hits(kind, params["query"])[: params["limit"]]
    rows = [
        {"title": hit["title"].replace(KEY, HIDDEN), "url": hit["url"], "published": hit["date"]}
        | ({"page": hit["page"]} if kind == "images" else {"snippet": hit["snippet"]})
        for hit in hits
    ]
    asked = {"asked"} if any(hit["date"] and "ago" in hit["date"] for hit in hits) else set()
    answered = weather(kind, params["query"]) not in FAILING
    return answered and response["results"] == rows and set(response) == {"results"} | asked


def _is_page(web: StormWeb, url: str, response: dict[str, Any]) -> bool:
    trap = web.trap(url)
    known = None if trap else page_of(int(url.rpartition("/")[2]))
    if "absent" in response:
        gone = trap.outcomes == ("absent",) if trap else known is None
        return gone and response == {"absent": f"there is no page at {url}"}
    text = response["page"]["text"]
    if trap is None:
        return known is not None and known[0] in text
    return "answer" in trap.outcomes and bool(text)


def _is_picture(web: StormWeb, url: str, response: dict[str, Any], store: Store, huge_side: int) -> bool:
    trap = web.trap(url)
    known = None if trap else picture_of(int(url.rpartition("/")[2]), huge_side)
    if "absent" in response:
        return "absent" in trap.outcomes if trap else known is None
    if trap is not None:
        known = bodies.picture(trap.name)[1] if "answer" in trap.outcomes else None
    blob = store.blob(response["blob"])
    return blob.data == known and Image.open(io.BytesIO(blob.data)).get_format_mimetype() == blob.media_type
