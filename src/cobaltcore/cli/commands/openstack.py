"""`cobalt openstack`: OpenStack's own client in the lab's cloud, as its administrator."""

import argparse
import os
import sys

from cobaltcore.cli import labs
from cobaltcore.lab.cloud import objects

HELP = "run openstack against the lab's cloud; all arguments are openstack's"
OWN_FLAGS = ("--name",)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    labs.add_name(parser)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")


def run(arguments: argparse.Namespace) -> int:
    """Become kubectl that runs the client in the toolbox, so that terminal and exit code are its own."""
    place = labs.home_of(arguments)
    place.running()
    words = arguments.arguments
    given = words[1:] if words[:1] == ["--"] else words
    terminal = ["--tty"] if sys.stdin.isatty() and sys.stdout.isatty() else []
    where = ["--namespace", objects.SPACE, f"deployment/{objects.TOOLBOX.name}"]
    command = ["kubectl", "exec", "--stdin", *terminal, "--quiet", *where, "--container", "client"]
    environment = {**os.environ, "KUBECONFIG": str(place.kubeconfig)}
    os.execve(  # noqa: S606 no shell
        place.programs / "kubectl", [*command, "--", "openstack", *given], environment
    )
