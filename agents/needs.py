"""Whether what a command needs is installed, said in one sentence before its imports fail.

Looks for packages by name; that their versions fit is for pip to see to.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec


def need(packages: Mapping[str, str], extra: str) -> None:
    """Ends ``python -m ...`` if a package is missing; does nothing in a process that was started otherwise.

    Args:
        packages: Names to be installed, by the name that is imported.
        extra: The extra of the project that brings them.
    """
    # While Python looks for the module of `python -m`, the first argument is "-m".
    if sys.argv[:1] != ["-m"]:
        return
    missing = [installed for imported, installed in packages.items() if not _there(imported)]
    if missing:
        raise SystemExit(f"error: {' and '.join(missing)} must be installed: pip install -e '.[{extra}]'")


def _there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:
        return False
