"""Arguments and actions shared by the commands of the lab."""

import argparse
import os

from cobaltcore.cli import connecting
from cobaltlab import statedir

CLUSTER_FLAGS = ("--name", "--kubeconfig", "--context")
"""Options of commands that pass all others to another program; these come first."""


def add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--name",
        default=statedir.DEFAULT_NAME,
        help=f"name of the lab (default: {statedir.DEFAULT_NAME})",
    )


def add_passed_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that choose a cluster, and pass everything else to another program."""
    connecting.configure_connection(parser)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")


def passed_arguments(arguments: argparse.Namespace) -> list[str]:
    words: list[str] = arguments.arguments
    return words[1:] if words[:1] == ["--"] else words


def state_dir_of(arguments: argparse.Namespace) -> statedir.StateDir:
    return statedir.find(arguments.name, os.environ)


def name_flag(name: str) -> str:
    """The flag that selects this lab in a suggested command."""
    return "" if name == statedir.DEFAULT_NAME else f" --name {name}"


def add_cloud(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-n", "--namespace", default="", help="of the cloud (default: the only one of the cluster)"
    )
