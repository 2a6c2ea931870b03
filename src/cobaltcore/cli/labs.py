"""What the commands for the lab share."""

import argparse
import os
import sys

from cobaltcore.cli import output
from cobaltcore.lab import home, phases


def add_name(parser: argparse.ArgumentParser) -> None:
    """Let the user choose an instance."""
    parser.add_argument(
        "--name",
        default=home.DEFAULT_NAME,
        help=f"which lab, if there are several (default: {home.DEFAULT_NAME})",
    )


def add_progress(parser: argparse.ArgumentParser) -> None:
    """Let the user choose how progress is shown."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quiet", action="store_true", help="no progress, only errors")
    how.add_argument("--json", action="store_true", help="one JSON object per event, on stdout")


def home_of(arguments: argparse.Namespace) -> home.Home:
    """The instance that the user chose."""
    return home.home(arguments.name, os.environ)


def phases_of(arguments: argparse.Namespace) -> phases.Phases:
    """Progress in the form that the user chose, or that fits the terminal."""
    return phases.Phases(_listener(arguments))


def name_flag(name: str) -> str:
    """What to type to mean this instance."""
    return "" if name == home.DEFAULT_NAME else f" --name {name}"


def _listener(arguments: argparse.Namespace) -> phases.Listener:
    if arguments.quiet:
        return phases.Silent()
    if arguments.json:
        return phases.Lines(output.data)
    if sys.stderr.isatty():
        return phases.Live(output.draw, width=output.width())
    return phases.Plain(output.note)
