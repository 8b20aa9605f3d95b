from __future__ import annotations

import pickle
from datetime import date

import pytest

from wildenv.errors import ConfigError, ToolError
from wildenv.web.cutoff import Decision, PageWithheld, apply_cutoff
from wildenv.web.results import TextHit

CUTOFF = date(2026, 7, 4)


def decide(published: str | None, undated: str = "keep", reference: date | None = None) -> Decision:
    hit = TextHit("t", "https://a.example", "s", published)
    kept, decisions = apply_cutoff([hit], CUTOFF, undated, reference)
    assert len(decisions) == 1
    assert kept == ([hit] if decisions[0].kept else [])
    assert decisions[0].reason
    return decisions[0]


@pytest.mark.parametrize(
    ("published", "keep", "drop"),
    [
        ("2026-07-03", True, True),
        ("2026-07-04", True, True),
        ("4 July 2026 23:59", True, True),
        ("2026-07-05", False, False),
        ("Jan 1, 2027", False, False),
        (None, True, False),
        ("", True, False),
        ("no idea", True, False),
        ("July 2026", True, False),
        ("June 2026", True, False),
        ("07/08/2026", False, False),
        ("07/01/2026", True, False),
        ("August 2026", False, False),
        ("2027", False, False),
        ("2026", True, False),
        ("Published Jul 1, 2026, updated Jul 9, 2026", True, False),
        ("3 days ago", True, False),
    ],
)
def test_what_is_kept(published: str | None, keep: bool, drop: bool) -> None:
    assert decide(published, "keep").kept is keep
    assert decide(published, "drop").kept is drop


def test_relative_dates_need_the_moment_they_were_said() -> None:
    assert not decide("3 days ago", reference=date(2026, 7, 10)).kept
    assert decide("3 days ago", reference=date(2026, 7, 7)).published == CUTOFF
    assert decide("3 days ago").published is None


def test_reasons_say_what_decided() -> None:
    assert decide("2026-07-05").reason == "published 2026-07-05, after the cutoff 2026-07-04"
    assert "no date" in decide(None).reason
    assert "env.undated=drop" in decide(None, "drop").reason
    assert "ambiguous" in decide("07/01/2026").reason
    assert "not a readable date" in decide("no idea").reason


def test_order_is_kept_and_every_result_has_a_decision() -> None:
    days = ["2026-07-04", "2026-07-06", None, "2026-07-01"]
    hits = [TextHit(str(i), f"https://a.example/{i}", "", day) for i, day in enumerate(days)]
    kept, decisions = apply_cutoff(hits, CUTOFF)
    assert [hit.title for hit in kept] == ["0", "2", "3"]
    assert [decision.url for decision in decisions] == [hit.url for hit in hits]


def test_without_cutoff_nothing_is_removed() -> None:
    kept, decisions = apply_cutoff([TextHit("t", "u", "s", "2999-01-01")], None, "drop")
    assert len(kept) == 1
    assert decisions[0].reason == "no cutoff is set"


def test_a_wrong_setting_is_named() -> None:
    with pytest.raises(ConfigError, match=r"env\.undated='maybe' is not one of keep, drop"):
        apply_cutoff([], CUTOFF, "maybe")


def test_decision_reads_back() -> None:
    for published in ("2026-07-05", None):
        decision = decide(published)
        assert Decision.from_dict(decision.to_dict()) == decision


def test_withheld_page_tells_the_agent_nothing_and_survives_pickling() -> None:
    error = PageWithheld(decide("2026-07-05"))
    assert isinstance(error, ToolError)
    assert "2026" not in str(error)
    assert pickle.loads(pickle.dumps(error)).decision == error.decision
