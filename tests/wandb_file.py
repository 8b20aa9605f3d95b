"""Reads what an offline W&B run has written: records in blocks of 32 KiB, as in LevelDB's logs, each a protobuf message."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wandb.proto import wandb_internal_pb2

_BLOCK = 32_768
_HEADER = 7


def records(folder: Path) -> list[tuple[str, Any]]:
    """Returns kind and content of each record of the only offline run under a run directory, which has ended.

    W&B's process is still writing when a run says that it has ended; this waits for the last record.
    """
    (path,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    for _ in range(200):
        found = _read(path)
        if found and found[-1][0] == "exit":
            return found
        time.sleep(0.05)
    raise AssertionError(f"{path.name} has no end")


def _read(path: Path) -> list[tuple[str, Any]]:
    found = []
    for data in _messages(path.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        kind = record.WhichOneof("record_type")
        found.append((kind, getattr(record, kind)))
    return found


def of_kind(folder: Path, kind: str) -> list[Any]:
    """Returns the records of one kind."""
    return [content for name, content in records(folder) if name == kind]


def values(items: Any) -> dict[str, str]:
    """Returns JSON values by name, nested names joined by dots."""
    return {item.key or ".".join(item.nested_key): item.value_json for item in items}


def _messages(raw: bytes) -> Iterator[bytes]:
    place, whole = _HEADER, b""
    while place + _HEADER <= len(raw):
        left = _BLOCK - place % _BLOCK
        if left < _HEADER:
            place += left
            continue
        length, kind = struct.unpack("<HB", raw[place + 4 : place + _HEADER])
        whole += raw[place + _HEADER : place + _HEADER + length]
        place += _HEADER + length
        # Whole, or the last of several parts.
        if kind in (1, 4):
            yield whole
            whole = b""
