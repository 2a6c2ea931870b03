"""`cobalt down`: stop the lab, and remove its data if that is wanted."""

import argparse
import os

from cobaltcore.cli import labs, output
from cobaltcore.lab import teardown

HELP = "stop the lab; keep its data, or remove it"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    labs.add_name(parser)
    parser.add_argument(
        "--purge", action="store_true", help="remove all data of the lab, volumes included"
    )
    labs.add_progress(parser)


def run(arguments: argparse.Namespace) -> int:
    """Stop it; a lab that does not run is fine."""
    place = labs.home_of(arguments)
    shown = labs.phases_of(arguments)
    removed = teardown.down(place, purge=arguments.purge, shown=shown, environment=os.environ)
    if arguments.json:
        output.json_line({"event": "result", "name": place.name, "removed": removed})
    return 0
