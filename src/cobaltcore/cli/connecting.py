"""What commands share that read a cluster and end: the connection, and the namespace."""

import argparse
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cobaltcore.runtime import kubeconfig, log
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.http_transport import HttpTransport


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="as of kubectl")
    parser.add_argument("--context", help="context of the kubeconfig")
    parser.add_argument("-n", "--namespace", default="", help="default: all")


@asynccontextmanager
async def connected(arguments: argparse.Namespace) -> AsyncIterator[Client]:
    """A client of the chosen cluster."""
    log.configure(level="ERROR")
    connection = kubeconfig.load(
        arguments.kubeconfig, context=arguments.context, environ=os.environ
    )
    client = Client(HttpTransport(connection, agent="cobalt"))
    try:
        yield client
    finally:
        await client.close()
