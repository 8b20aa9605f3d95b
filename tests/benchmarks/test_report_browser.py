"""The page in a headless Chromium, as a person uses it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.reporting.bundle import write_report
from benchmarks.reporting.run import read_runs
from tests.benchmarks.browser import VARIABLE, Browser, find_chromium
from tests.benchmarks.made_episodes import Maker, settings
from wildenv.episode import ROWS, Episode

CHROMIUM = find_chromium()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason=f"needs Chromium: apt-get install chromium, or {VARIABLE}=PATH"),
]

EVIL = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> \"'&amp; \u2028 \u2029"
MANY = 2_000

SECONDS = """(async (act) => {
  const started = performance.now();
  act();
  document.getElementById("list").getBoundingClientRect();
  const filtered = performance.now() - started;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return { filtered, painted: performance.now() - started, count: document.getElementById("count").textContent };
})"""


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    """A browser with an empty page."""
    assert CHROMIUM is not None
    one = Browser(CHROMIUM, tmp_path / "profile")
    try:
        yield one
    finally:
        one.close()


def _page(maker: Maker, out: Path, **changes: Any) -> Path:
    runs = read_runs([maker.folder], settings(**changes), progress=False)
    return write_report(runs, out, settings(**changes), progress=False).page


def _few(folder: Path) -> Maker:
    maker = Maker(folder)
    kappa = {"plain": 0.5, "cropped": 0.75, "wrong": 1.0, "late": 0.25}
    (folder / "kappa.json").write_text(json.dumps(kappa))
    scored = {"search": 1.0, "generation": 0.84, "identity": 0.8, "context": 1.0}
    maker.add("plain", scored, drawn=21, truth=(22,))
    maker.add("cropped", {**scored, "generation": 0.5}, crop=True, domain="Fashion", answer="A gown in plum.")
    maker.add("wrong", {"search": 0.0, "generation": 0.2}, shown=(3, 4), prompt="Draw a lighthouse.")
    maker.add("late", end="deadline")
    return maker


def _shown(browser: Browser) -> list[str]:
    names: list[str] = browser.run("[...document.querySelectorAll('.row .name')].map((one) => one.textContent)")
    return names


def _set(browser: Browser, field: str, value: str) -> None:
    browser.run(
        f"(() => {{ const field = document.getElementById({field!r}); field.value = {value!r}; "
        "field.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )


def _heading(browser: Browser, task: str) -> None:
    browser.wait(f"document.querySelector('.heading h2')?.textContent === {json.dumps(task)}")


def test_filters_search_and_order(tmp_path: Path, browser: Browser) -> None:
    maker = _few(tmp_path / "run")
    browser.open(_page(maker, tmp_path / "out", benchmark={"kappa": str(maker.folder / "kappa.json")}).as_uri())
    assert _shown(browser) == ["cropped", "late", "plain", "wrong"]
    for field, value, expected in (
        ("filter-domain", "=Fashion", ["cropped"]),
        ("filter-outcome", "passed", ["cropped", "plain"]),
        ("filter-outcome", "kind:judged wrong", ["wrong"]),
        ("filter-end", "=deadline", ["late"]),
        ("filter-bucket", "=κ = 1", ["wrong"]),
        ("filter-agent", "=maker", ["cropped", "late", "plain", "wrong"]),
        ("search", "LIGHTHOUSE draw", ["wrong"]),
        ("search", "plum", ["cropped"]),
        ("search", "nothing like it", []),
        ("sort", "-generation", ["plain", "cropped", "wrong", "late"]),
        ("sort", "+generation", ["wrong", "cropped", "plain", "late"]),
        ("sort", "+kappa", ["late", "plain", "cropped", "wrong"]),
    ):
        _set(browser, field, value)
        assert _shown(browser) == expected, (field, value)
        browser.run("document.getElementById('clear').click()")
    browser.run("document.getElementById('unscored').click()")
    assert _shown(browser) == ["late"]
    assert browser.run("document.getElementById('count').textContent") == "1 of 4 episodes"
    browser.run("document.getElementById('clear').click()")
    assert len(_shown(browser)) == 4


def test_keys_and_addresses(tmp_path: Path, browser: Browser) -> None:
    page = _page(_few(tmp_path / "run"), tmp_path / "out").as_uri()
    browser.open(page)
    browser.key("j")
    _heading(browser, "cropped")
    browser.key("j")
    _heading(browser, "late")
    browser.key("k")
    _heading(browser, "cropped")
    assert browser.run("location.hash") == "#cropped"
    browser.key("/")
    assert browser.run("document.activeElement.id") == "search"
    browser.key("j")
    assert browser.run("document.getElementById('search').value") == "j", "in the search field a key is a letter"
    browser.key("Escape")
    assert browser.run("document.activeElement.id") != "search"
    browser.run("document.getElementById('clear').click()")
    browser.key("r")
    browser.wait("!document.getElementById('report').hidden && document.querySelectorAll('#report table').length > 5")
    browser.key("e")
    browser.wait("document.getElementById('report').hidden")
    assert browser.run("location.hash") == "#cropped"
    browser.key("?")
    assert browser.run("document.getElementById('help').open") is True
    browser.run("document.getElementById('help').close()")
    browser.run("location.hash = '#wrong'")
    _heading(browser, "wrong")
    assert browser.run("document.querySelector('.row[aria-selected=true] .name').textContent") == "wrong"
    browser.run("location.hash = '#no-such-task'")
    browser.wait("document.getElementById('detail').textContent.includes('no-such-task')")
    assert browser.messages == []


def test_an_episode_is_shown_with_its_pictures_boxes_and_verdicts(tmp_path: Path, browser: Browser) -> None:
    browser.open(_page(_few(tmp_path / "run"), tmp_path / "out").as_uri() + "#cropped")
    _heading(browser, "cropped")
    browser.wait("[...document.querySelectorAll('#detail img')].every((one) => one.complete)")
    assert browser.run("[...document.querySelectorAll('#detail img')].filter((one) => !one.naturalWidth).length") == 0
    assert browser.run("document.querySelectorAll('#detail img').length") >= 9
    # The box takes the left upper quarter of the picture it was cut from.
    quarter = browser.run(
        "(() => { const mark = document.querySelector('.turn .crop'); const box = mark.getBoundingClientRect(); "
        "const whole = mark.parentElement.querySelector('img').getBoundingClientRect(); "
        "return [box.left - whole.left, box.top - whole.top, box.width / whole.width, box.height / whole.height]; })()"
    )
    assert quarter == pytest.approx([0, 0, 0.5, 0.5], abs=0.03)
    text = browser.run("document.getElementById('detail').textContent")
    for expected in (
        "A gown in plum.",
        "judge-1",
        "search looked at",
        "1 result removed, 2 kept, 1 of them undated",
        "kept=False",
    ):
        assert expected in text
    browser.run("location.hash = '#plain'")
    _heading(browser, "plain")
    titles = browser.run("[...document.querySelectorAll('.columns h3')].map((one) => one.textContent)")
    assert titles == ["Reference", "Ground truth", "Generated"]
    assert browser.run("[...document.querySelectorAll('.columns .panel')].map((one) => one.querySelectorAll('img').length)") == [
        1,
        1,
        1,
    ]
    assert browser.run("[...document.querySelectorAll('#detail img')].every((one) => one.alt)") is True
    assert (
        browser.run("[...document.querySelectorAll('#filters input, #filters select')].every((one) => one.closest('label'))")
        is True
    )


def test_hostile_episodes_do_nothing(tmp_path: Path, browser: Browser) -> None:
    maker = Maker(tmp_path / "run")
    step = {"call": "call_1_1", "name": "text_search", "ok": False, "error": EVIL, "notes": [EVIL]}
    maker.add(
        "t<script>1",
        {"search": 0.0},
        prompt=EVIL,
        answer=EVIL,
        title=EVIL,
        text=EVIL,
        judge=EVIL,
        domain=EVIL,
        steps=[step, {**step, "call": "call_2_1"}],
    )
    page = _page(maker, tmp_path / "out")
    browser.open(page.as_uri())
    browser.key("j")
    _heading(browser, "t<script>1")
    browser.key("x")
    browser.key("r")
    browser.wait("!document.getElementById('report').hidden")
    assert browser.run("document.title").startswith("t<script>1")
    assert browser.run("document.querySelectorAll('#episodes script, #report script, img[src=x]').length") == 0
    assert EVIL in browser.run("document.querySelector('.prompt-text').textContent")
    assert browser.messages == []
    assert browser.requests == [page.as_uri()]


def test_pictures_beside_the_page_are_shown(tmp_path: Path, browser: Browser) -> None:
    page = _page(_few(tmp_path / "run"), tmp_path / "out", pictures="beside")
    browser.open(page.as_uri() + "#plain")
    _heading(browser, "plain")
    browser.wait("[...document.querySelectorAll('#detail img')].every((one) => one.complete && one.naturalWidth)")
    assert all(one.startswith(page.parent.as_uri()) for one in browser.requests)
    assert browser.messages == []


def test_a_page_without_pictures_says_so(tmp_path: Path, browser: Browser) -> None:
    browser.open(_page(_few(tmp_path / "run"), tmp_path / "out", pictures="none").as_uri() + "#plain")
    _heading(browser, "plain")
    assert browser.run("document.querySelectorAll('#detail img').length") == 0
    assert "not in the page" in browser.run("document.querySelector('.columns').textContent")


def test_dark_and_light(tmp_path: Path, browser: Browser) -> None:
    browser.open(_page(_few(tmp_path / "run"), tmp_path / "out").as_uri())

    def brightness() -> int:
        colour: str = browser.run("getComputedStyle(document.body).backgroundColor")
        return sum(int(one) for one in colour.strip("rgb()").split(","))

    light = brightness()
    browser.run("document.getElementById('theme').click()")
    assert brightness() < light / 3
    browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.run("document.getElementById('theme').click()")
    assert brightness() == light


def test_two_thousand_episodes_open_in_seconds_and_answer_a_filter_in_200_ms(tmp_path: Path, browser: Browser) -> None:
    maker = Maker(tmp_path / "run")
    made = [maker.add(f"seed{number}", crop=number % 2 == 0, text="[1] " + "word " * 400) for number in range(8)]
    with (maker.folder / ROWS).open("w", encoding="utf-8") as rows:
        for number in range(MANY):
            rows.write(json.dumps(_varied(made[number % len(made)], number).to_dict()) + "\n")
    page = _page(maker, tmp_path / "out")
    assert page.stat().st_size < 16_000_000
    assert browser.open(page.as_uri()) < 10
    for act, count in (
        (_act("search", "lighthouse"), "200 of 2,000 episodes"),
        (_act("search", ""), "2,000 episodes"),
        (_act("filter-domain", "=Fashion"), "500 of 2,000 episodes"),
        (_act("filter-domain", ""), "2,000 episodes"),
        (_act("sort", "-generation"), "2,000 episodes"),
        ("() => document.getElementById('unscored').click()", "100 of 2,000 episodes"),
        ("() => document.getElementById('clear').click()", "2,000 episodes"),
    ):
        took = browser.run(f"{SECONDS}({act})")
        assert took["count"] == count, act
        assert took["filtered"] < 200, (act, took)
    assert browser.run("document.querySelectorAll('.row').length") < 60, "only what fits is drawn"
    browser.run("document.getElementById('list').scrollTop = 1e9")
    browser.wait("[...document.querySelectorAll('.row .name')].some((one) => one.textContent === 'task-1999')")
    browser.run("location.hash = '#task-1234'")
    _heading(browser, "task-1234")
    assert browser.messages == []


def _varied(episode: Episode, number: int) -> Episode:
    row = json.loads(json.dumps(episode.to_dict()))
    row["task"]["id"] = f"task-{number:04d}"
    row["task"]["domain"] = ("Sports", "Fashion", "Culture", "Products")[number % 4]
    row["task"]["prompt"] = (
        f"Draw {'a lighthouse' if number % 10 == 3 else 'the kit'} number {number}, in a scene by the harbour."
    )
    unscored = number % 20 == 7
    row["rewards"] = {"search": float(number % 3 > 0), "generation": None if unscored else number % 11 / 10}
    if unscored:
        row |= {"reward_valid": False, "reward": 0.0, "end_reason": "judge", "failure": "no verdict"}
    return Episode.from_dict(row)


def _act(field: str, value: str) -> str:
    return (
        f"() => {{ const field = document.getElementById({field!r}); field.value = {value!r}; "
        "field.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
