"""`cobalt up`: start a lab on this machine."""

import argparse
import os
from dataclasses import asdict
from pathlib import Path

from cobaltcore.cli import output, progress
from cobaltlab import cluster, commandline, steps

HELP = "start the lab on this machine, or resume it"


def configure(parser: argparse.ArgumentParser) -> None:
    commandline.add_name(parser)
    parser.add_argument(
        "--until",
        choices=steps.NAMES,
        default=steps.NAMES[-1],
        help="last step to run (default: %(default)s)",
    )
    parser.add_argument(
        "--nodes",
        type=int,
        metavar="N",
        help=f"number of nodes, including the control plane (default: {cluster.DEFAULT_NODES})",
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
        "--network-policies",
        action=argparse.BooleanOptionalAction,
        help="nodes enforce NetworkPolicies; builds kube-router once (default: no)",
    )
    parser.add_argument(
        "--yes", action="store_true", help="install missing Debian packages without asking"
    )
    parser.add_argument(
        "--merge-kubeconfig",
        action="store_true",
        help="add a context for the lab to your kubeconfig",
    )
    progress.add_progress(parser)


def run(arguments: argparse.Namespace) -> int:
    """Start the lab and print how to use it."""
    options = cluster.UpOptions(
        nodes=arguments.nodes,
        audit=arguments.audit,
        images=arguments.images and arguments.images.absolute(),
        dev=arguments.dev,
        network_policies=arguments.network_policies,
        install_packages=arguments.yes,
        merge_kubeconfig=arguments.merge_kubeconfig,
    )
    result = steps.up(
        commandline.state_dir_of(arguments),
        options,
        until=arguments.until,
        progress=progress.phases_of(arguments),
        environment=os.environ,
    )
    if arguments.json:
        output.json_line({"event": "result", **asdict(result)})
    elif not arguments.quiet:
        _print_summary(result)
    return 0


def _print_summary(result: cluster.Result) -> None:
    flag = commandline.name_flag(result.name)
    count = f"{len(result.nodes)} nodes" if len(result.nodes) > 1 else "1 node"
    access = f"export KUBECONFIG={result.kubeconfig}"
    if result.context:
        access = f"kubectl --context {result.context} get nodes"
    minutes, seconds = divmod(round(result.seconds["total"]), 60)
    elapsed = f"{minutes}m{seconds:02d}s" if minutes else f"{seconds}s"
    client = f"  cobalt openstack{flag} server list\n" if result.outcome else ""
    output.note(
        f'\nLab "{result.name}" is up ({elapsed}): {count}, API server {result.server}\n\n'
        f"  cobalt kubectl{flag} get pods -A\n"
        f"{client}"
        f"  {access}\n"
        f"  cobalt down{flag}"
    )
    if result.outcome:
        output.note(f"\n{result.outcome}")
