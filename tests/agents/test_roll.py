"""The line that says what a roll asked the web for."""

from __future__ import annotations

from agents.roll import web_line


def report(mode: str, **failures: dict[str, int]) -> dict[str, object]:
    return {"mode": mode, "usage": {"fetch_page": {"calls": 2, "hits": 1}}, "failures": failures, "services": {}}


def test_gaps_are_told_with_the_setting_that_closes_them() -> None:
    line = web_line(report("record", fetch_page={"gap": 2, "timeout": 1}))
    assert "not had: 2 gap, 1 timeout; web.retry_gaps=true asks again" in line
    assert "web.mode=record web.retry_gaps=true" in web_line(report("replay", fetch_image={"gap": 1}))
    assert "retry_gaps" not in web_line(report("record", fetch_page={"timeout": 1}))
