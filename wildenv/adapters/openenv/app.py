"""The embedded default as an ASGI application, for tools that want one by name: ``uvicorn wildenv.adapters.openenv.app:app``.

Importing it generates the miniweb if no cache holds it. ``wildenv serve`` has settings, limits the size of messages, and finds
dead connections; a bare uvicorn takes its own defaults for both.
"""

from __future__ import annotations

from wildenv.adapters.openenv.server import create_app, shared_env
from wildenv.registration import MINIWEB

app = create_app(shared_env(f"{MINIWEB}:train", MINIWEB), split="train")
