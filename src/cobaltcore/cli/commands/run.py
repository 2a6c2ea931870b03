"""`cobalt run`: run operators against a cluster."""

import argparse
from pathlib import Path

import uvloop

from cobaltcore.cli import errors, process
from cobaltcore.engine import operator, registry
from cobaltcore.runtime.admission import Webhooks
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.manager import Manager, Settings
from cobaltcore.runtime.webhook import Endpoint, WebhookServer

HELP = "run operators (all by default) against the current kubeconfig"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="all by default")
    process.configure(parser, health_port=8081)
    parser.add_argument(
        "--webhook-certificates",
        type=Path,
        metavar="DIR",
        help="serve webhooks with tls.crt and tls.key of this directory",
    )
    parser.add_argument("--webhook-port", type=int, default=9443, help="default: %(default)s")


def run(arguments: argparse.Namespace) -> int:
    """Run until SIGTERM or SIGINT."""
    process.configure_log(arguments)
    uvloop.run(_run(arguments, choose(arguments.operators)))
    return 0


def choose(names: list[str]) -> list[operator.Operator]:
    """The operators of those names, or all."""
    known = {found.name: found for found in registry.operators()}
    for name in names:
        if name not in known:
            raise errors.CommandError(
                f"there is no operator {name!r}", hint=f"operators are {', '.join(sorted(known))}"
            )
    return [known[name] for name in names or sorted(known)]


async def _run(arguments: argparse.Namespace, chosen: list[operator.Operator]) -> None:
    async with process.connected(arguments) as session:
        cluster = Cluster(session.client)
        context = operator.Context(cluster, session.instance)
        table = Webhooks()
        for each in chosen:
            each.webhooks(context, table)
        manager = Manager(
            {cluster.name: cluster},
            [controller for each in chosen for controller in each.controllers(context)],
            election=process.election(
                arguments, session, "-".join(["cobalt", *arguments.operators])
            ),
            webhooks=_server(arguments, table),
            settings=Settings(arguments.health_host, arguments.health_port),
        )
        manager.stop_on_signals()
        await manager.run()


def _server(arguments: argparse.Namespace, table: Webhooks) -> WebhookServer | None:
    folder: Path | None = arguments.webhook_certificates
    if folder is None:
        return None
    endpoint = Endpoint(folder / "tls.crt", folder / "tls.key", port=arguments.webhook_port)
    return WebhookServer(table, endpoint)
