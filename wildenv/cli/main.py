"""The command's entry point.

Exit codes: 0 when it is done; 1 when the answer is no (an episode differs, a pack is damaged, requests failed); 2 when it could
not be done (a setting is wrong, a file is missing), with one sentence on standard error.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from wildenv.cli.words import RECORD, plain_words
from wildenv.errors import WildenvError
from wildenv.interrupt import STOPPED, starting

_DESCRIPTION = """\
Record the web that agents see, replay it, and pass it on as one file.

  wildenv record   ask the web once and keep the answers in a store
  wildenv replay   play recorded episodes again and say what differs
  wildenv pack     list, verify, merge, compare, count and share packs
  wildenv export   write episodes for inspect_ai or Gen-Searcher
  wildenv import   read tasks and results of Gen-Searcher and its kin
  wildenv serve    serve the environment over the OpenEnv protocol
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
    with starting():
        parser = make_parser()
    arguments = parser.parse_args(argv)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except WildenvError as error:
        sys.stderr.write(f"wildenv: {plain_words(str(error), arguments.command)}\n")
        return 2
    except KeyboardInterrupt:
        kept = "; what was recorded is kept, run the same command again to go on" if arguments.command == RECORD else ""
        sys.stderr.write(f"wildenv: stopped{kept}\n")
        return STOPPED
    except BrokenPipeError:
        # The reader has seen enough; Python must not complain when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def make_parser() -> argparse.ArgumentParser:
    """Returns the parser of the command; what it parses has the function to call as ``run``."""
    # Imported here, where Ctrl-C is looked after.
    from wildenv.cli import exchange, pack, record, replay, serve

    parser = _Parser(
        prog="wildenv", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"wildenv {_version()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="command")
    for group in (record, replay, pack, exchange, serve):
        group.add(commands)
    return parser


class _Parser(argparse.ArgumentParser):
    """A parser that shows its own usage for what it does not know, and its help if it is a group and nothing is given."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parses; exits with 2 if anything is left over."""
        if self._subparsers is not None and not (sys.argv[1:] if args is None else args):
            self.print_help(sys.stderr)
            self.exit(2)
        found, left = super().parse_known_args(args, namespace)
        if left:
            self.error(f"there is no such option or argument: {' '.join(left)}")
        return found, left


def _version() -> str:
    try:
        return version("wildenv")
    except PackageNotFoundError:
        return "of a checkout that is not installed"
