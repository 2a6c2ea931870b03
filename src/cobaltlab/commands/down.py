"""`cobalt down`: stop the lab and keep its data, or delete it with --purge."""

import argparse
import os

from cobaltcore.cli import output, progress
from cobaltlab import commandline, teardown

HELP = "stop the lab; keep its data, or delete it with --purge"


def configure(parser: argparse.ArgumentParser) -> None:
    commandline.add_name(parser)
    parser.add_argument(
        "--purge", action="store_true", help="delete all data of the lab, including volumes"
    )
    progress.add_progress(parser)


def run(arguments: argparse.Namespace) -> int:
    """Stop the lab; succeeds if it is not running."""
    state_dir = commandline.state_dir_of(arguments)
    removed = teardown.down(
        state_dir,
        purge=arguments.purge,
        progress=progress.phases_of(arguments),
        environment=os.environ,
    )
    if arguments.json:
        output.json_line({"event": "result", "name": state_dir.name, "removed": removed})
    return 0
