"""`cobalt status`: what runs on this machine and how it is."""

import argparse
import os
from dataclasses import asdict

from cobaltcore.cli import output
from cobaltcore.lab import overview

HELP = "show labs and their nodes: state, reason"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")


def run(arguments: argparse.Namespace) -> int:
    """Show everything of ours."""
    found = overview.look(os.environ)
    if arguments.output == "json":
        output.as_json(asdict(found))
        return 0
    if not found.labs:
        output.note("There is no lab on this machine; start one with: cobalt up")
    else:
        _tables(found.labs)
    for each in found.leftovers:
        output.note(
            f"\nleftovers of {each.name}: {each.why}; remove them: cobalt down --name {each.name}"
        )
    return 0


def _tables(labs: list[overview.Lab]) -> None:
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
    parts = [
        [lab.name, part.name, "Ready" if part.ready else "NotReady", part.runs, part.reason]
        for lab in labs
        for part in lab.parts
    ]
    if parts:
        output.data("")
        output.table(["LAB", "PROCESS", "STATE", "RUNS", "REASON"], parts)
