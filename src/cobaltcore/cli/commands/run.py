"""`cobalt run`: run operators against a cluster."""

import argparse
from pathlib import Path

from cobaltcore.cli import errors, limits, process
from cobaltcore.engine import operator, registry
from cobaltcore.engine.context import Context
from cobaltcore.engine.desired.names import PART_OF
from cobaltcore.runtime.admission import Webhooks
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.manager import Manager, Server, Settings

HELP = "run operators (all by default) against the current kubeconfig"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="all by default")
    process.configure(parser, health_port=8081)
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--webhook-service",
        metavar="NAMESPACE/NAME",
        help="serve webhooks behind this Service, with a self-managed certificate",
    )
    how.add_argument(
        "--webhook-url",
        metavar="URL",
        help="as above, where the API server reaches this process at https://HOST:PORT",
    )
    how.add_argument(
        "--webhook-certificates",
        type=Path,
        metavar="DIR",
        help="serve webhooks with tls.crt and tls.key of this directory; register nothing",
    )
    parser.add_argument(
        "--watch-namespace",
        default="",
        metavar="NAMESPACE",
        help="serve the objects of this namespace only (default: all namespaces)",
    )
    limits.configure(parser)
    parser.add_argument("--webhook-port", type=int, default=9443, help="default: %(default)s")


def run(arguments: argparse.Namespace) -> int:
    """Run until SIGTERM or SIGINT."""
    process.configure_log(arguments)
    process.serve(_run(arguments, choose(arguments.operators)))


def choose(names: list[str]) -> list[operator.Operator]:
    """The operators of those names, or all."""
    if not names:
        return sorted(registry.operators(), key=lambda each: each.name)
    return [_find(name) for name in names]


def _find(name: str) -> operator.Operator:
    found = registry.find(name)
    if found is None:
        known = ", ".join(sorted(each.name for each in registry.operators()))
        raise errors.CommandError(f'there is no operator "{name}"', hint=f"operators are {known}")
    return found


async def _run(arguments: argparse.Namespace, chosen: list[operator.Operator]) -> None:
    async with process.connected(arguments) as session:
        labels = {"app.kubernetes.io/part-of": PART_OF}
        cluster = Cluster(
            session.client, content_labels=labels, namespace=arguments.watch_namespace
        )
        context = Context(cluster, session.instance, limits.policy(arguments))
        table = Webhooks()
        for each in chosen:
            each.webhooks(context, table)
        name = "-".join(["cobalt", *arguments.operators])
        manager = Manager(
            {cluster.name: cluster},
            [controller for each in chosen for controller in each.controllers(context)],
            election=process.election(arguments, session, name),
            webhooks=_webhooks(arguments, session, table, name),
            settings=Settings(arguments.health_host, arguments.health_port),
        )
        manager.stop_on_signals()
        await manager.run()


def _webhooks(
    arguments: argparse.Namespace, session: process.Session, table: Webhooks, name: str
) -> Server | None:
    flags = (arguments.webhook_certificates, arguments.webhook_service, arguments.webhook_url)
    if not any(flags):
        return None
    # Imported only if needed: aiohttp and cryptography take more memory than an operator.
    from cobaltcore.cli import webhooks

    return webhooks.server(arguments, session, table, name)
