"""What the commands that run controllers share: where the cluster is, and a process around it."""

import argparse
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from cobaltcore.runtime import kubeconfig, log
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.lease import Election
from cobaltcore.runtime.meta import Key
from cobaltcore.runtime.transport import HttpTransport


class Session(NamedTuple):
    """A connection to a cluster, and this process's name in it."""

    client: Client
    namespace: str
    instance: str


def configure(parser: argparse.ArgumentParser, *, health_port: int) -> None:
    """Declare the arguments that all of them have."""
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="as kubectl's")
    parser.add_argument("--context", help="context of the kubeconfig")
    parser.add_argument("--leader-elect", action="store_true", help="work only while leading")
    parser.add_argument(
        "--namespace",
        default="",
        help="where its own objects are kept: lease, certificate (default: the context's)",
    )
    parser.add_argument("--health-host", default="127.0.0.1", help="default: %(default)s")
    parser.add_argument(
        "--health-port", type=int, default=health_port, help="default: %(default)s"
    )
    parser.add_argument("--log-format", choices=["text", "json"], default="text")
    parser.add_argument("--log-level", choices=["DEBUG", "INFO", "WARNING"], default="INFO")


def configure_log(arguments: argparse.Namespace) -> None:
    """Set up logging as the arguments say."""
    log.configure(format_=arguments.log_format, level=arguments.log_level)


@asynccontextmanager
async def connected(arguments: argparse.Namespace) -> AsyncIterator[Session]:
    """Connect as the arguments say."""
    connection = kubeconfig.load(
        arguments.kubeconfig, context=arguments.context, environ=os.environ
    )
    client = Client(HttpTransport(connection, agent="cobaltcore"))
    instance = f"{socket.gethostname()}-{os.getpid()}"
    try:
        yield Session(client, connection.namespace, instance)
    finally:
        await client.close()


def election(arguments: argparse.Namespace, session: Session, lease: str) -> Election | None:
    """A candidate for the lease, if one was asked for."""
    if not arguments.leader_elect:
        return None
    key = Key(namespace(arguments, session), lease)
    return Election(session.client, key, identity=session.instance)


def namespace(arguments: argparse.Namespace, session: Session) -> str:
    """Where this process keeps objects of its own."""
    found: str = arguments.namespace or session.namespace
    return found
