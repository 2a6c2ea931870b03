"""The progress of a long command, as its arguments choose."""

import argparse
import sys

from cobaltcore.cli import output, phases


def add_progress(parser: argparse.ArgumentParser) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quiet", action="store_true", help="no progress, only errors")
    how.add_argument("--json", action="store_true", help="one JSON object per event, on stdout")


def phases_of(arguments: argparse.Namespace) -> phases.Phases:
    """Progress in the form that the user chose, or that suits the output stream."""
    return phases.Phases(_listener(arguments))


def _listener(arguments: argparse.Namespace) -> phases.Listener:
    if arguments.quiet:
        return phases.Silent()
    if arguments.json:
        return phases.JsonLines(output.data)
    if sys.stderr.isatty():
        return phases.Live(output.draw, width=output.width())
    return phases.Plain(output.note)
