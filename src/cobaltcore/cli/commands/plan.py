"""`cobalt plan`: what applying a file would change, without changing anything."""

import argparse

import uvloop

from cobaltcore.cli import caches, connecting, files, output, plan_report
from cobaltcore.cli.plan_report import Report
from cobaltcore.engine import registry
from cobaltcore.engine.dryrun import responses
from cobaltcore.engine.dryrun.driver import Driver, DryRunReconciler
from cobaltcore.runtime.dryrun import DryRunClient

HELP = "show what applying a file would change: objects, restarts, Jobs, interruptions"
NO_CHANGE, CHANGES, FAILED = 0, 2, 1


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-f", "--filename", required=True, metavar="FILE", help="- reads stdin")
    connecting.configure(parser, namespace="of objects that name none (default: of the context)")
    parser.add_argument("-o", "--output", choices=["text", "json"], default="text")
    parser.epilog = "Exit code 0: nothing changes; 2: something does; 1: it would fail."


def run(arguments: argparse.Namespace) -> int:
    """Plan; the exit code is that of the outcome: nothing changes, something does, or it fails."""
    report = uvloop.run(_plan(arguments))
    if arguments.output == "json":
        output.as_json(plan_report.as_data(report))
    else:
        plan_report.show(report)
    if report.refusals:
        return FAILED
    return CHANGES if report.changes else NO_CHANGE


async def _plan(arguments: argparse.Namespace) -> Report:
    transport, own_namespace = connecting.transport(arguments)
    manifests = files.read(arguments.filename, arguments.namespace or own_namespace)
    planners = [planner for each in registry.operators() for planner in each.planners]
    client = DryRunClient(
        transport,
        respond=responses.responder(
            {p.kind for p in planners if any(each.decides for each in p.probes)}
        ),
        finalizers={each.finalizer for each in planners if each.finalizer},
    )
    try:
        async with caches.filled(client, make=DryRunReconciler, frozen=True) as cached:
            driver = Driver(cached.cluster, client, cached.reconcilers.values())
            for each in manifests:
                await files.apply(client, await files.kind_of(client, each), each)
                await driver.settle()
            return await plan_report.report(client, cached.cluster, driver)
    finally:
        await client.close()
