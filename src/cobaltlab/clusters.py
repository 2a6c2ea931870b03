"""Labs as clusters of all commands: that of --name, or the default lab if no other cluster is chosen."""

import argparse
import os
from pathlib import Path

from cobaltlab import statedir


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--name",
        metavar="LAB",
        help=f"a lab on this machine (default: $KUBECONFIG, or the lab {statedir.DEFAULT_NAME!r})",
    )


def kubeconfig(arguments: argparse.Namespace) -> Path | None:
    """The kubeconfig of the chosen lab; None if another cluster is chosen."""
    state_dir = chosen(arguments)
    if state_dir is None:
        return None
    state_dir.require_running()
    return state_dir.kubeconfig


def chosen(arguments: argparse.Namespace) -> statedir.StateDir | None:
    """The lab that the arguments choose."""
    if arguments.kubeconfig is not None:
        return None
    if arguments.name:
        return statedir.find(arguments.name, os.environ)
    if arguments.context or os.environ.get("KUBECONFIG"):
        return None
    default = statedir.find(statedir.DEFAULT_NAME, os.environ)
    return default if _exists(default) else None


def _exists(state_dir: statedir.StateDir) -> bool:
    """Whether there is such a lab; only root can see it."""
    try:
        return state_dir.read_record() is not None
    except PermissionError:
        return False
