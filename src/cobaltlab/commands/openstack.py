"""`cobalt openstack`: the OpenStack client against the lab's cloud, as its administrator."""

import argparse
import sys

from cobaltlab import commandline
from cobaltlab.cloud import objects

HELP = "run openstack against the lab's cloud; arguments are passed through"
OWN_FLAGS = ("--name",)


def configure(parser: argparse.ArgumentParser) -> None:
    commandline.add_passed_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the client in the toolbox pod."""
    terminal = ["--tty"] if sys.stdin.isatty() and sys.stdout.isatty() else []
    toolbox = ["--namespace", objects.NAMESPACE, f"deployment/{objects.TOOLBOX.name}"]
    command = ["exec", "--stdin", *terminal, "--quiet", *toolbox, "--container", "client"]
    words = commandline.passed_arguments(arguments)
    commandline.exec_kubectl(arguments, *command, "--", "openstack", *words)
