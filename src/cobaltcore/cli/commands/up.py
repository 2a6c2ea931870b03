"""`cobalt up`: a cluster on this machine, and what runs on it."""

import argparse
import os
import sys

from cobaltcore.cli import labs, output
from cobaltcore.lab import cluster, home, phases

HELP = "start the lab on this machine, or bring it back"
STAGES = ("cluster",)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    labs.add_name(parser)
    parser.add_argument("--until", choices=STAGES, default=STAGES[-1], help="where to stop")
    parser.add_argument(
        "--nodes",
        type=int,
        metavar="N",
        help=f"nodes in all, the first for the control plane (default: {cluster.DEFAULT_NODES})",
    )
    parser.add_argument(
        "--audit",
        action=argparse.BooleanOptionalAction,
        help="write an audit log of the API server (default: no)",
    )
    parser.add_argument(
        "--yes", action="store_true", help="install missing Debian packages without asking"
    )
    parser.add_argument(
        "--merge-kubeconfig",
        action="store_true",
        help="add a context for the lab to your kubeconfig",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quiet", action="store_true", help="no progress, only errors")
    how.add_argument("--json", action="store_true", help="one JSON object per event, on stdout")


def run(arguments: argparse.Namespace) -> int:
    """Bring it up and tell what stands."""
    place = home.home(arguments.name, os.environ)
    wishes = cluster.Wishes(
        nodes=arguments.nodes, audit=arguments.audit, install_packages=arguments.yes
    )
    shown = phases.Phases(_listener(arguments))
    result = cluster.up(place, wishes, shown=shown, environment=os.environ)
    if arguments.json:
        output.json_line({"event": "result", **labs.fields(result)})
    elif not arguments.quiet:
        _tell(result)
    return 0


def _listener(arguments: argparse.Namespace) -> phases.Listener:
    if arguments.quiet:
        return phases.Silent()
    if arguments.json:
        return phases.Lines(output.data)
    if sys.stderr.isatty():
        return phases.Live(output.draw, width=output.width())
    return phases.Plain(output.note)


def _tell(result: cluster.Result) -> None:
    flag = "" if result.name == home.DEFAULT_NAME else f" --name {result.name}"
    count = f"{len(result.nodes)} nodes" if len(result.nodes) > 1 else "one node"
    output.note(
        f"\nThe lab {result.name} stands after {result.seconds['total']:.1f} s: {count}, "
        f"API server {result.server}\n\n"
        f"  cobalt kubectl{flag} get pods -A\n"
        f"  export KUBECONFIG={result.kubeconfig}\n"
        f"  cobalt down{flag}"
    )
