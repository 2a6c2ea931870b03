"""`cobalt up`: a cluster on this machine, and what runs on it."""

import argparse
import os
from dataclasses import asdict
from pathlib import Path

from cobaltcore.cli import labs, output
from cobaltcore.lab import cluster, stages

HELP = "start the lab on this machine, or bring it back"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    labs.add_name(parser)
    parser.add_argument(
        "--until",
        choices=stages.NAMES,
        default=stages.NAMES[-1],
        help="where to stop (default: %(default)s)",
    )
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
        "--images",
        type=Path,
        metavar="DIR",
        help="OCI layout that nodes pull images from (default: where `cobalt images` puts them)",
    )
    parser.add_argument(
        "--dev",
        action=argparse.BooleanOptionalAction,
        help="run operators and providers from the source tree on this host (default: in pods)",
    )
    parser.add_argument(
        "--yes", action="store_true", help="install missing Debian packages without asking"
    )
    parser.add_argument(
        "--merge-kubeconfig",
        action="store_true",
        help="add a context for the lab to your kubeconfig",
    )
    labs.add_progress(parser)


def run(arguments: argparse.Namespace) -> int:
    """Bring it up and tell what stands."""
    wishes = cluster.Wishes(
        nodes=arguments.nodes,
        audit=arguments.audit,
        images=arguments.images and arguments.images.absolute(),
        dev=arguments.dev,
        install_packages=arguments.yes,
        merge_kubeconfig=arguments.merge_kubeconfig,
    )
    result = stages.up(
        labs.home_of(arguments),
        wishes,
        until=arguments.until,
        shown=labs.phases_of(arguments),
        environment=os.environ,
    )
    if arguments.json:
        output.json_line({"event": "result", **asdict(result)})
    elif not arguments.quiet:
        _tell(result)
    return 0


def _tell(result: cluster.Result) -> None:
    flag = labs.name_flag(result.name)
    count = f"{len(result.nodes)} nodes" if len(result.nodes) > 1 else "one node"
    reach = f"export KUBECONFIG={result.kubeconfig}"
    if result.context:
        reach = f"kubectl --context {result.context} get nodes"
    total = result.seconds["total"]
    client = f"  cobalt openstack{flag} server list\n" if result.outcome else ""
    output.note(
        f"\nThe lab {result.name} stands after {total:.1f} s: {count}, "
        f"API server {result.server}\n\n"
        f"  cobalt kubectl{flag} get pods -A\n"
        f"{client}"
        f"  {reach}\n"
        f"  cobalt down{flag}"
    )
    if result.outcome:
        output.note(f"\n{result.outcome} — {total // 60:.0f}m{total % 60:02.0f}s")
