"""`cobalt status`: one screen about the control planes of a cluster."""

import argparse
import asyncio
import sys
from dataclasses import asdict

import uvloop

from cobaltcore.cli import connecting, output, overview_reading, overview_tables
from cobaltcore.runtime.client import Client

HELP = "show control planes, operators, services, hypervisors, what expires, recent warnings"
EVERY_SECONDS = 2.0


def configure(parser: argparse.ArgumentParser) -> None:
    connecting.configure(parser)
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    parser.add_argument(
        "-w", "--watch", action="store_true", help="show it again every 2 s until interrupted"
    )


def run(arguments: argparse.Namespace) -> int:
    return uvloop.run(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    async with connecting.connected(arguments) as client:
        await show(client, arguments)
        while arguments.watch:
            await asyncio.sleep(EVERY_SECONDS)
            await show(client, arguments)
    return 0


async def show(client: Client, arguments: argparse.Namespace) -> None:
    """Read and print once."""
    found = await overview_reading.read(client, arguments.namespace)
    if arguments.output == "json":
        (output.json_line if arguments.watch else output.as_json)(asdict(found))
        return
    if arguments.watch and sys.stdout.isatty():
        output.clear()
    overview_tables.show(found)
