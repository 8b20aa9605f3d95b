"""The command's entry point.

Exit codes: 0 when it is done; 1 when the answer is no (an episode differs, a pack is damaged, requests failed); 2 when it could
not be done (a setting is wrong, a file is missing), with one sentence on standard error.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from wildenv.cli import pack, record, replay
from wildenv.errors import WildenvError

_DESCRIPTION = """\
Record the web that agents see, replay it, and pass it on as one file.

  wildenv record   ask the web once and keep the answers in a store
  wildenv replay   play recorded episodes again and say what differs
  wildenv pack     list, verify, merge, compare, count and share packs
"""
_EPILOG = """\
a tour, without any key:
  wildenv record --web miniweb --requests requests.jsonl --store web.sqlite --pack web.pack
  wildenv pack stats web.pack
  wildenv replay episodes --web web.pack

exit codes: 0 done; 1 the answer is no (differs, damaged, failed); 2 it could not be done
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        argv: Arguments; those of the process if None.

    Returns:
        The exit code.
    """
    arguments = make_parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except WildenvError as error:
        sys.stderr.write(f"wildenv: {' '.join(str(error).split())}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("wildenv: stopped; what was recorded is kept, run the same command again to go on\n")
        return 130
    except BrokenPipeError:
        # The reader has seen enough; Python must not complain when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def make_parser() -> argparse.ArgumentParser:
    """Returns the parser of the command; what it parses has the function to call as ``run``."""
    parser = argparse.ArgumentParser(
        prog="wildenv", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for group in (record, replay, pack):
        group.add(commands)
    return parser
