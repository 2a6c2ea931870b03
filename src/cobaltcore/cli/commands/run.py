"""`cobalt run`: run operators against a cluster."""

import argparse
from pathlib import Path
from urllib.parse import urlsplit

import uvloop

from cobaltcore.cli import errors, process
from cobaltcore.engine import operator, registry
from cobaltcore.runtime.admission import Webhooks
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.manager import Manager, Server, Settings
from cobaltcore.runtime.meta import Key
from cobaltcore.runtime.webhook import Endpoint, WebhookServer
from cobaltcore.runtime.webhook_objects import Service
from cobaltcore.runtime.webhook_service import Registration, WebhookService

HELP = "run operators (all by default) against the current kubeconfig"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="all by default")
    process.configure(parser, health_port=8081)
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--webhook-service",
        metavar="NAMESPACE/NAME",
        help="serve webhooks behind this Service, with a certificate of their own",
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
        name = "-".join(["cobalt", *arguments.operators])
        manager = Manager(
            {cluster.name: cluster},
            [controller for each in chosen for controller in each.controllers(context)],
            election=process.election(arguments, session, name),
            webhooks=_server(arguments, session, table, name),
            settings=Settings(arguments.health_host, arguments.health_port),
        )
        manager.stop_on_signals()
        await manager.run()


def _server(
    arguments: argparse.Namespace, session: process.Session, table: Webhooks, name: str
) -> Server | None:
    folder: Path | None = arguments.webhook_certificates
    if folder is not None:
        endpoint = Endpoint(folder / "tls.crt", folder / "tls.key", port=arguments.webhook_port)
        return WebhookServer(table, endpoint)
    if arguments.webhook_service or arguments.webhook_url:
        place = process.namespace(arguments, session)
        registration = _registration(arguments, name, place)
        return WebhookService(session.client, table, registration, port=arguments.webhook_port)
    return None


def _registration(arguments: argparse.Namespace, name: str, place: str) -> Registration:
    secret = Key(place, f"{name}-webhooks")
    if arguments.webhook_url:
        host = urlsplit(arguments.webhook_url).hostname
        if not arguments.webhook_url.startswith("https://") or not host:
            raise errors.CommandError(
                f"--webhook-url {arguments.webhook_url!r} is not of the form https://HOST:PORT"
            )
        return Registration(name, arguments.webhook_url, [host], secret)
    namespace, slash, service = arguments.webhook_service.partition("/")
    if not (namespace and slash and service):
        raise errors.CommandError(
            f"--webhook-service {arguments.webhook_service!r} is not of the form NAMESPACE/NAME"
        )
    hosts = [f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local"]
    return Registration(name, Service(namespace, service), hosts, secret)
