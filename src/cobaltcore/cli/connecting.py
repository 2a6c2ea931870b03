"""What commands share that read a cluster and end: the connection, and the namespace.

The cluster is that of --kubeconfig and --context, one that another package knows by a name (a lab),
or that of the current kubeconfig.
"""

import argparse
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from cobaltcore.cli import extensions
from cobaltcore.runtime import kubeconfig, log
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.http_transport import HttpTransport


class Opened(NamedTuple):
    """A transport to the chosen cluster, and the namespace of its context."""

    transport: HttpTransport
    namespace: str


class Clusters(Protocol):
    """A module of the group `cobalt.clusters`: clusters that a package knows by name."""

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def kubeconfig(self, arguments: argparse.Namespace) -> Path | None:
        """The kubeconfig of the cluster that the arguments name, or of its default; else None."""
        ...


def configure_connection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="as of kubectl")
    parser.add_argument("--context", help="context of the kubeconfig")
    for each in _named_clusters():
        each.configure(parser)


def configure(parser: argparse.ArgumentParser, *, namespace: str = "default: all") -> None:
    configure_connection(parser)
    parser.add_argument("-n", "--namespace", default="", help=namespace)


def file_of(arguments: argparse.Namespace) -> Path | None:
    """The kubeconfig of the chosen cluster; None for the current one."""
    if arguments.kubeconfig is not None:
        return cast("Path", arguments.kubeconfig)
    return next(filter(None, (each.kubeconfig(arguments) for each in _named_clusters())), None)


def transport(arguments: argparse.Namespace) -> Opened:
    """Open a transport; logs of what runs on it are for the user only if something fails."""
    log.configure(level="ERROR")
    connection = kubeconfig.load(file_of(arguments), context=arguments.context, environ=os.environ)
    return Opened(HttpTransport(connection, agent="cobalt"), connection.namespace)


@asynccontextmanager
async def connected(arguments: argparse.Namespace) -> AsyncIterator[Client]:
    """A client of the chosen cluster."""
    client = Client(transport(arguments).transport)
    try:
        yield client
    finally:
        await client.close()


def _named_clusters() -> list[Clusters]:
    return [cast("Clusters", each.load()) for each in extensions.of("cobalt.clusters")]
