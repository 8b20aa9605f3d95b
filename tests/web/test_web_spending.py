"""Counting what services charge, and stopping in time."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from wildenv.errors import ConfigError, ProviderError
from wildenv.web.net.spending import Metered, Quota, Spending, checked_price


def test_threads_lose_no_count() -> None:
    spending = Spending()
    with ThreadPoolExecutor(8) as threads:
        for _ in range(400):
            threads.submit(spending.add, requests=1, retries=2, credits=3, cost=0.25, bytes=10)
    assert spending.to_dict() == {"requests": 400, "retries": 800, "credits": 1200, "cost": 100.0, "bytes": 4000}


def test_whoever_has_spending_is_metered() -> None:
    class Provider:
        spending = Spending()

    assert isinstance(Provider(), Metered)
    assert not isinstance(object(), Metered)


def test_a_quota_stops_and_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    quota = Quota("serper", 10, "web.search.quota")
    for used in range(1, 11):
        quota.book()
        quota.settle(1)
        assert len(caplog.records) == (used >= 9)
    assert "9 of the 10 credits of web.search.quota are used" in caplog.text
    with pytest.raises(ProviderError, match=r"quota of 10 credits is used up; raise web\.search\.quota") as raised:
        quota.book()
    assert raised.value.kind == "quota"


def test_a_small_quota_warns_before_its_last_request(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    quota = Quota("serper", 3, "web.search.quota")
    for used in range(1, 4):
        quota.book()
        quota.settle(1)
        assert len(caplog.records) == (used >= 2)
    dear = Quota("serper", 10, "web.search.quota")
    dear.book()
    dear.settle(5)
    assert "5 of the 10 credits" in caplog.text


def test_threads_cannot_overdraw_it_together() -> None:
    quota = Quota("serper", 20, "web.search.quota")
    everyone = threading.Barrier(32)

    def spend() -> bool:
        everyone.wait(5)
        try:
            quota.book()
        except ProviderError:
            return False
        return True

    with ThreadPoolExecutor(32) as threads:
        assert sum(threads.map(lambda _: spend(), range(32))) == 20


def test_a_request_that_failed_gives_its_credit_back() -> None:
    quota = Quota("serper", 1, "web.search.quota")
    for _ in range(5):
        quota.book()
        quota.settle(0)
    quota.book()
    with pytest.raises(ProviderError):
        quota.book()


def test_no_limit_never_stops_or_warns(caplog: pytest.LogCaptureFixture) -> None:
    quota = Quota("serper", None, "web.search.quota")
    for _ in range(100):
        quota.book()
        quota.settle(50)
    assert not caplog.records


@pytest.mark.parametrize("limit", [-1, "many", 1.5, True])
def test_what_is_no_quota_is_refused(limit: Any) -> None:
    with pytest.raises(ConfigError, match=r"web\.search\.quota"):
        Quota("serper", limit, "web.search.quota")


@pytest.mark.parametrize("price", [-1, "a", None, float("nan"), float("inf")])
def test_what_is_no_price_is_refused(price: Any) -> None:
    with pytest.raises(ConfigError, match=r"web\.search\.price="):
        checked_price(price, "web.search.price")
