"""Manners towards hosts are shared by those who talk to one, and forgotten only when nobody does."""

from __future__ import annotations

from wildenv.web.net.hosts import Hosts
from wildenv.web.net.manners import Rules


def test_all_who_talk_to_a_host_share_its_manners() -> None:
    hosts = Hosts(Rules(attempts=2))
    with hosts.towards("a:80") as one, hosts.towards("a:80") as same, hosts.towards("a:81") as other:
        assert one is same
        assert one is not other
        assert one.rules.attempts == 2
    with hosts.towards("a:80") as later:
        assert later is one


def test_the_host_that_was_asked_longest_ago_is_forgotten() -> None:
    hosts = Hosts(Rules(), most=2)
    kept = {}
    for name in ("a", "b", "a", "c"):
        with hosts.towards(name) as manners:
            kept[name] = manners
    assert len(hosts) == 2
    with hosts.towards("a") as again:
        assert again is kept["a"]
    with hosts.towards("b") as anew:
        assert anew is not kept["b"]


def test_a_host_in_use_is_not_forgotten() -> None:
    hosts = Hosts(Rules(), most=1)
    with hosts.towards("busy") as first:
        for number in range(5):
            with hosts.towards(f"other-{number}"):
                assert len(hosts) == 2
        with hosts.towards("busy") as same:
            assert same is first
    assert len(hosts) == 1
