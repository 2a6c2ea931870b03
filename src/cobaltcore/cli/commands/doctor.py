"""`cobalt doctor`: whether a cluster has what operators need, and what is broken in it."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict

import uvloop

from cobaltcore.cli import caches, connecting, gathering, listing, output
from cobaltcore.engine.diagnosis import checks
from cobaltcore.engine.diagnosis.checks import Check
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import WatchScope

HELP = "check a cluster: kinds, operators, nodes, DNS, storage, webhooks, certificates"
FAILED = 1


def configure(parser: argparse.ArgumentParser) -> None:
    connecting.configure(parser)
    parser.add_argument("-o", "--output", choices=["text", "json"], default="text")
    parser.epilog = "Exit code 0: every check succeeded; 1: at least one failed."


def run(arguments: argparse.Namespace) -> int:
    """Check; 1 if a check failed."""
    return show(uvloop.run(_run(arguments)), arguments.output)


async def _run(arguments: argparse.Namespace) -> list[Check]:
    async with connecting.connected(arguments) as client:
        return await cluster_checks(client)


async def cluster_checks(client: Client) -> list[Check]:
    """All checks of a cluster."""
    scopes = [(kind, WatchScope()) for kind in checks.WEBHOOKS]
    configurations = [e for _, found in await listing.all_of(client, scopes) for e in found]
    async with caches.filled(client, frozen=True) as cached:
        namespaces = checks.webhook_namespaces(configurations)
        return checks.checks(await gathering.facts(client, cached, namespaces))


def show(found: Sequence[Check], form: str) -> int:
    """Print checks; 1 if one of them failed."""
    failed = [each for each in found if not each.ok]
    if form == "json":
        output.as_json([asdict(each) for each in found])
        return FAILED if failed else 0
    for each in found:
        output.data(f"{'✓' if each.ok else '✗'} {each.name}: {each.message}")
        if not each.ok and each.fix:
            output.data(f"    fix: {each.fix}")
    output.data(f"\n{len(found) - len(failed)}/{len(found)} checks succeeded")
    return FAILED if failed else 0
