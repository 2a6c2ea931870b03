"""`cobalt run`: run operators against a cluster."""

import argparse
import os
import socket
from pathlib import Path

import uvloop

from cobaltcore.cli import errors
from cobaltcore.engine import operator
from cobaltcore.runtime import kubeconfig, log
from cobaltcore.runtime.admission import Webhooks
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.lease import Election
from cobaltcore.runtime.manager import Manager, Settings
from cobaltcore.runtime.meta import Key
from cobaltcore.runtime.transport import HttpTransport
from cobaltcore.runtime.webhook import Endpoint, WebhookServer

HELP = "run operators (all by default) against the current kubeconfig"
LEASE = "cobalt"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="all by default")
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="as kubectl's")
    parser.add_argument("--context", help="context of the kubeconfig")
    parser.add_argument("--leader-elect", action="store_true", help="work only while leading")
    parser.add_argument("--lease-namespace", default="", help="where the lease is kept")
    parser.add_argument("--health-host", default="127.0.0.1", help="default: %(default)s")
    parser.add_argument("--health-port", type=int, default=8081, help="default: %(default)s")
    parser.add_argument(
        "--webhook-certificates",
        type=Path,
        metavar="DIR",
        help="serve webhooks with tls.crt and tls.key of this directory",
    )
    parser.add_argument("--webhook-port", type=int, default=9443, help="default: %(default)s")
    parser.add_argument("--log-format", choices=["text", "json"], default="text")
    parser.add_argument("--log-level", choices=["DEBUG", "INFO", "WARNING"], default="INFO")


def run(arguments: argparse.Namespace) -> int:
    """Run until SIGTERM or SIGINT."""
    log.configure(format_=arguments.log_format, level=arguments.log_level)
    chosen = choose(arguments.operators)
    uvloop.run(_run(arguments, chosen))
    return 0


def choose(names: list[str]) -> list[operator.Operator]:
    """The operators of those names, or all."""
    known = {found.name: found for found in operator.discover("cobaltcore.operators")}
    for name in names:
        if name not in known:
            raise errors.CommandError(
                f"there is no operator {name!r}", hint=f"operators are {', '.join(sorted(known))}"
            )
    return [known[name] for name in names or sorted(known)]


async def _run(arguments: argparse.Namespace, chosen: list[operator.Operator]) -> None:
    connection = kubeconfig.load(
        arguments.kubeconfig, context=arguments.context, environ=os.environ
    )
    instance = f"{socket.gethostname()}-{os.getpid()}"
    client = Client(HttpTransport(connection, agent="cobaltcore"))
    cluster = Cluster(client)
    context = operator.Context(cluster, instance)
    table = Webhooks()
    for each in chosen:
        each.webhooks(context, table)
    manager = Manager(
        {cluster.name: cluster},
        [controller for each in chosen for controller in each.controllers(context)],
        election=_election(arguments, client, connection.namespace, instance),
        webhooks=_server(arguments, table),
        settings=Settings(arguments.health_host, arguments.health_port),
    )
    manager.stop_on_signals()
    try:
        await manager.run()
    finally:
        await client.close()


def _election(
    arguments: argparse.Namespace, client: Client, namespace: str, instance: str
) -> Election | None:
    if not arguments.leader_elect:
        return None
    name = "-".join([LEASE, *arguments.operators])
    return Election(client, Key(arguments.lease_namespace or namespace, name), identity=instance)


def _server(arguments: argparse.Namespace, table: Webhooks) -> WebhookServer | None:
    folder: Path | None = arguments.webhook_certificates
    if folder is None:
        return None
    endpoint = Endpoint(folder / "tls.crt", folder / "tls.key", port=arguments.webhook_port)
    return WebhookServer(table, endpoint)
