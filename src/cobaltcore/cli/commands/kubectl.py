"""`cobalt kubectl`: kubectl of the lab's own release, with the lab's credentials."""

import argparse
import os

from cobaltcore.cli import labs

HELP = "run kubectl against the lab; all arguments are kubectl's"
OWN_FLAGS = ("--name",)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    labs.add_name(parser)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")


def run(arguments: argparse.Namespace) -> int:
    """Become kubectl, so that signals, terminal and exit code are its own."""
    place = labs.home_of(arguments)
    place.running()
    words = arguments.arguments
    given = words[1:] if words[:1] == ["--"] else words
    environment = {**os.environ, "KUBECONFIG": str(place.kubeconfig)}
    os.execve(place.programs / "kubectl", ["kubectl", *given], environment)  # noqa: S606 no shell
