"""Without the extra ``openenv`` there is nothing here to test."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("openenv") else ["test_*.py"]
