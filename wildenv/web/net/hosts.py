"""Manners towards every host that pages and pictures are fetched from.

A host is a name and a port. Only so many are remembered; one that has not been asked for long is forgotten first, and with it
that it asked for a pause.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from wildenv.web.net.manners import Manners, Rules


class Hosts:
    """The manners towards hosts, by name. Safe for threads.

    Args:
        rules: Towards each host.
        most: Hosts that are remembered; more only while so many are being talked to.
    """

    def __init__(self, rules: Rules, most: int = 1024) -> None:
        self._rules = rules
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Manners] = OrderedDict()
        self._users: dict[str, int] = {}

    def __len__(self) -> int:
        with self._lock:
            return len(self._known)

    @contextmanager
    def towards(self, name: str) -> Iterator[Manners]:
        """Lends the manners towards a host; while lent they are not forgotten."""
        with self._lock:
            manners = self._known.get(name)
            if manners is None:
                manners = self._known[name] = Manners(name, self._rules)
            self._known.move_to_end(name)
            self._users[name] = self._users.get(name, 0) + 1
        try:
            yield manners
        finally:
            with self._lock:
                self._users[name] -= 1
                if not self._users[name]:
                    del self._users[name]
                self._forget()

    def _forget(self) -> None:
        excess = len(self._known) - self._most
        if excess > 0:
            for name in [name for name in self._known if name not in self._users][:excess]:
                del self._known[name]
