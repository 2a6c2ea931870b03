"""What commands that run controllers share: connection, leader election, lifetime."""

import argparse
import os
import socket
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, NoReturn

import uvloop

from cobaltcore.runtime import kubeconfig, log
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.http_transport import HttpTransport
from cobaltcore.runtime.lease import Election
from cobaltcore.runtime.meta import Key


class Session(NamedTuple):
    """A connection to a cluster, and the identity of this process in it."""

    client: Client
    namespace: str
    instance: str


def configure(parser: argparse.ArgumentParser, *, health_port: int) -> None:
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="as of kubectl")
    parser.add_argument("--context", help="context of the kubeconfig")
    parser.add_argument(
        "--leader-elect", action="store_true", help="run controllers only while holding a Lease"
    )
    parser.add_argument(
        "--namespace",
        default="",
        help="of its own objects: Lease, certificate (default: that of the context)",
    )
    parser.add_argument("--health-host", default="127.0.0.1", help="default: %(default)s")
    parser.add_argument(
        "--health-port", type=int, default=health_port, help="default: %(default)s"
    )
    parser.add_argument("--log-format", choices=["text", "json"], default="text")
    parser.add_argument("--log-level", choices=["DEBUG", "INFO", "WARNING"], default="INFO")


def configure_log(arguments: argparse.Namespace) -> None:
    log.configure(format_=arguments.log_format, level=arguments.log_level)


@asynccontextmanager
async def connected(arguments: argparse.Namespace) -> AsyncIterator[Session]:
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
    """A candidate for the Lease, None without --leader-elect."""
    if not arguments.leader_elect:
        return None
    key = Key(namespace(arguments, session), lease)
    return Election(session.client, key, identity=session.instance)


def namespace(arguments: argparse.Namespace, session: Session) -> str:
    """The namespace of the process's own objects."""
    found: str = arguments.namespace or session.namespace
    return found


def serve(work: Coroutine[None, None, None]) -> NoReturn:
    """Run until the work is done, then exit.

    The exit skips the teardown of the interpreter: freeing the caches takes longer than the
    shutdown, and everything that must be closed is closed by the work itself.
    """
    uvloop.run(work)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
