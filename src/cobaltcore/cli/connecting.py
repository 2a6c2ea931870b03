"""What commands share that read a cluster and end: the connection, and the namespace."""

import argparse
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from cobaltcore.runtime import kubeconfig, log
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.http_transport import HttpTransport


class Opened(NamedTuple):
    """A transport to the chosen cluster, and the namespace of its context."""

    transport: HttpTransport
    namespace: str


def configure_connection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="as of kubectl")
    parser.add_argument("--context", help="context of the kubeconfig")


def configure(parser: argparse.ArgumentParser, *, namespace: str = "default: all") -> None:
    configure_connection(parser)
    parser.add_argument("-n", "--namespace", default="", help=namespace)


def transport(arguments: argparse.Namespace) -> Opened:
    """Open a transport; logs of what runs on it are for the user only if something fails."""
    log.configure(level="ERROR")
    connection = kubeconfig.load(
        arguments.kubeconfig, context=arguments.context, environ=os.environ
    )
    return Opened(HttpTransport(connection, agent="cobalt"), connection.namespace)


@asynccontextmanager
async def connected(arguments: argparse.Namespace) -> AsyncIterator[Client]:
    """A client of the chosen cluster."""
    client = Client(transport(arguments).transport)
    try:
        yield client
    finally:
        await client.close()
