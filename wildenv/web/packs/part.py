"""The file that a pack is written into before it takes the pack's place.

It lies beside the pack and names the process that writes it, so that what a killed process left is found and removed by the next
one that writes the same pack. A process is looked for on this machine only, and one that has got the number of a dead one keeps
the dead one's files.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_BESIDE = ("", "-wal", "-shm", "-journal")


def new_part(pack: Path) -> Path:
    """Returns where to write a pack, after removing what dead processes left of earlier attempts at the same pack."""
    named = re.compile(rf"\.{re.escape(pack.name)}\.([1-9][0-9]{{0,8}})\.[0-9a-f]{{8}}\.part(?:-wal|-shm|-journal)?")
    for path in sorted(pack.parent.iterdir()):
        written = named.fullmatch(path.name)
        if written and not _runs(int(written[1])):
            path.unlink(missing_ok=True)
    return pack.with_name(f".{pack.name}.{os.getpid()}.{os.urandom(4).hex()}.part")


def remove_part(part: Path) -> None:
    """Removes what is left of an attempt."""
    for beside in _BESIDE:
        Path(f"{part}{beside}").unlink(missing_ok=True)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # Somebody else's.
        return True
    return True
