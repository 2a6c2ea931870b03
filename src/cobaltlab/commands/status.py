"""`cobalt status`: the labs on this machine."""

import argparse
import os
from dataclasses import asdict

from cobaltcore.cli import output
from cobaltlab import status

HELP = "show labs, their nodes and components: state, reason"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")


def run(arguments: argparse.Namespace) -> int:
    found = status.collect(os.environ)
    if arguments.output == "json":
        output.as_json(asdict(found))
        return 0
    if not found.labs:
        output.note("No labs on this machine; start one: cobalt up")
    else:
        _tables(found.labs)
    for each in found.leftovers:
        output.note(
            f'\nleftovers of lab "{each.name}": {each.why}; remove them: '
            f"cobalt down --name {each.name}"
        )
    return 0


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
