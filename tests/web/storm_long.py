"""A storm of some minutes, with all checks of the short one: ``python -m tests.web.storm_long FOLDER --episodes 1500``.

Prints the figures as JSON. Pictures are as large as may be decoded, and every trap has thousands of addresses.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from tests.web.storm import EPISODES, STORE, Storm, play_apart
from tests.web.storm_web import QUERIES, storm_web
from tests.web.test_web_storm import (
    check_a_replay_is_the_same,
    check_a_resume_rolls_what_failed,
    check_all_were_told_the_same,
    check_failures_have_names,
    check_gaps_are_requests,
    check_nothing_hung_or_crashed,
    check_only_answers_are_stored,
    check_services_are_not_the_agent_s_fault,
    check_the_key_is_nowhere,
)
from wildenv.episode import read_episodes
from wildenv.images import MAX_SOURCE_PIXELS
from wildenv.web.request import WEB_TOOLS
from wildenv.web.store import Store


def main() -> None:
    """Runs it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--episodes", type=int, default=1500)
    parser.add_argument("--search", choices=["serper", "searxng"], default="serper")
    parser.add_argument("--memory-mb", type=float, default=2_500.0)
    parser.add_argument("--timeout-s", type=float, default=1_200.0)
    given = parser.parse_args()
    side = int(MAX_SOURCE_PIXELS**0.5)
    with storm_web(side) as web:
        settings = {
            "episodes": given.episodes,
            "queries": QUERIES * max(1, given.episodes // 64),
            "search": given.search,
            "tool_s": 30.0,
        }
        storm = Storm.over(web, given.folder / "run", **settings)
        toll = play_apart(storm, given.timeout_s)
        episodes = list(read_episodes(given.folder / "run" / EPISODES))
        seconds = sorted(second for episode in episodes for second in episode.timings)
        failures = Counter(" ".join((episode.failure or "").split()[:6]) for episode in episodes if episode.failure)
        figures = {**asdict(toll), "judged": len(toll.judged), "slowest_call_s": seconds[-1], "failures": dict(failures)}
        with Store(given.folder / "run" / STORE, read_only=True) as store:
            figures["entries"], figures["gaps"] = store.counts(), len(store.gaps(WEB_TOOLS))
        sys.stdout.write(json.dumps(figures, indent=1) + "\n")
        check_nothing_hung_or_crashed(storm, toll, episodes, given.memory_mb)
        check_failures_have_names(storm, toll, episodes)
        check_services_are_not_the_agent_s_fault(toll, episodes)
        check_all_were_told_the_same(episodes)
        with Store(given.folder / "run" / STORE, read_only=True) as store:
            check_only_answers_are_stored(web, store, side)
            check_gaps_are_requests(store)
        check_the_key_is_nowhere(given.folder / "run", toll)
        web.calm.set()
        check_a_resume_rolls_what_failed(storm, play_apart(storm, given.timeout_s), episodes)
    check_a_replay_is_the_same(storm, given.folder)
    sys.stdout.write("all checks passed\n")


if __name__ == "__main__":
    main()
