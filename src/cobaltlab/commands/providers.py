"""`cobalt providers`: run the lab providers against a cluster."""

import argparse

import uvloop

from cobaltcore.cli import errors, output, process
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.manager import Manager, Settings
from cobaltlab.providers import provider

HELP = "run lab providers (all by default): databases, brokers, certificates, … for the lab"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("providers", nargs="*", metavar="PROVIDER", help="all by default")
    process.configure(parser, health_port=8082)
    parser.add_argument(
        "--image",
        action="append",
        default=[],
        metavar="COMPONENT=REFERENCE",
        help="image of a server, for example mariadb=example.org/mariadb:10.11; repeatable",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run until SIGTERM or SIGINT."""
    process.configure_log(arguments)
    uvloop.run(_run(arguments, choose(arguments.providers), images(arguments.image)))
    return 0


def choose(names: list[str]) -> list[provider.Provider]:
    """The providers with these names, or all."""
    known = provider.discover()
    for name in names:
        if name not in known:
            raise errors.CommandError(
                f'provider "{name}" does not exist',
                hint=f"use one of: {', '.join(sorted(known))}",
            )
    return [known[name] for name in names or sorted(known)]


def images(options: list[str]) -> dict[str, str]:
    """Image references by component."""
    pairs = [each.partition("=") for each in options]
    for name, separator, reference in pairs:
        if not (name and separator and reference):
            raise errors.CommandError(
                f'--image "{name}" is not of the form COMPONENT=REFERENCE',
                hint="for example --image mariadb=example.org/mariadb:10.11",
            )
    return {name: reference for name, _, reference in pairs}


async def _run(
    arguments: argparse.Namespace, chosen: list[provider.Provider], references: dict[str, str]
) -> None:
    async with process.connected(arguments) as session:
        cluster = Cluster(session.client)
        context = provider.Context(cluster, session.instance, references)
        served = []
        for each in chosen:
            if await provider.install(session.client, each):
                served.append(each)
            else:
                output.note(
                    f"provider {each.name}: disabled, because the real operator is installed"
                )
        manager = Manager(
            {cluster.name: cluster},
            [controller for each in served for controller in each.controllers(context)],
            election=process.election(arguments, session, "cobalt-lab-providers"),
            settings=Settings(arguments.health_host, arguments.health_port),
        )
        manager.stop_on_signals()
        await manager.run()
