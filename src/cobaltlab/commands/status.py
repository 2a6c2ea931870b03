"""`cobalt status`: the labs on this machine and their clouds, or any other cluster."""

import argparse
import os
import sys
import threading
from dataclasses import asdict, replace

from cobaltcore.cli import output, overview_tables
from cobaltcore.cli.commands import status as cluster
from cobaltlab import status

HELP = "show labs and their nodes; of each cluster control planes, services, hypervisors, warnings"


def configure(parser: argparse.ArgumentParser) -> None:
    cluster.configure(parser)
    parser.epilog = "With --kubeconfig, --context or --name it shows that cluster only."


def run(arguments: argparse.Namespace) -> int:
    if arguments.kubeconfig or arguments.context or arguments.name:
        return cluster.run(arguments)
    _show(arguments)
    interrupted = threading.Event()
    while arguments.watch:
        interrupted.wait(cluster.EVERY_SECONDS)
        _show(arguments)
    return 0


def _show(arguments: argparse.Namespace) -> None:
    found = status.collect(os.environ, namespace=arguments.namespace)
    if arguments.output == "json":
        (output.json_line if arguments.watch else output.as_json)(asdict(found))
        return
    if arguments.watch and sys.stdout.isatty():
        output.clear()
    if not found.labs:
        output.note("No labs on this machine; start one: cobalt up")
    else:
        _tables(found.labs)
    for each in found.leftovers:
        output.note(
            f'\nleftovers of lab "{each.name}": {each.why}; remove them: '
            f"cobalt down --name {each.name}"
        )


def _tables(labs: list[status.Lab]) -> None:
    rows = [[lab.name, lab.state, lab.server, lab.reason] for lab in labs]
    output.table(["LAB", "STATE", "SERVER", "REASON"], rows)
    nodes = [
        [
            lab.name,
            node.name,
            "Ready" if node.ready else "NotReady",
            node.address,
        ]
        for lab in labs
        for node in lab.nodes
        if lab.state != "stopped"
    ]
    if nodes:
        output.data("")
        output.table(["LAB", "NODE", "STATE", "ADDRESS"], nodes)
    components = [
        [lab.name, each.name, "Ready" if each.ready else "NotReady", each.runs, each.reason]
        for lab in labs
        for each in lab.components
    ]
    if components:
        output.data("")
        output.table(["LAB", "COMPONENT", "STATE", "RUNS", "REASON"], components)
    for lab in labs:
        if lab.cluster is not None:
            output.data("" if len(labs) == 1 else f"\n{lab.name}:")
            # The lab's components are the operators.
            overview_tables.show(replace(lab.cluster, operators=[]))
