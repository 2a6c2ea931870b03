"""`cobalt console`: what a server writes to its console, or the URL of its display."""

import argparse

from cobaltcore.cli import connecting
from cobaltlab import commandline, openstack

HELP = "print the console output of a server, or the URL of its graphical console"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("server", metavar="SERVER", help="name or ID")
    connecting.configure_connection(parser)
    commandline.add_cloud(parser)
    parser.add_argument("--lines", type=int, metavar="N", help="the last ones (default: all)")
    parser.add_argument(
        "--url", action="store_true", help="of the graphical console in a browser, valid once"
    )


def run(arguments: argparse.Namespace) -> int:
    openstack.execute(arguments, words(arguments))


def words(arguments: argparse.Namespace) -> list[str]:
    """The arguments of the OpenStack client."""
    if arguments.url:
        show = ["console", "url", "show", "--novnc", "-f", "value", "-c", "url"]
    else:
        lines = [] if arguments.lines is None else ["--lines", str(arguments.lines)]
        show = ["console", "log", "show", *lines]
    return [*show, "--", arguments.server]
