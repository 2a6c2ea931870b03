"""`cobalt install`: install or upgrade the operators in any cluster, after a preflight."""

import argparse
from datetime import timedelta

import uvloop

from cobaltcore.cli import (
    connecting,
    errors,
    installation,
    output,
    progress,
    releases,
    targets,
)
from cobaltcore.cli.commands import doctor
from cobaltcore.deploy import operators
from cobaltcore.deploy.values import Installation
from cobaltcore.engine.diagnosis import preflight
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Desired

HELP = "install or upgrade the operators in a cluster, after a check of what it lacks"


def configure(parser: argparse.ArgumentParser) -> None:
    connecting.configure_connection(parser)
    installation.configure(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="check the cluster, print changes, make none"
    )
    parser.add_argument(
        "--skip-preflight", action="store_true", help="install whatever the cluster lacks"
    )
    parser.add_argument(
        "--timeout", type=float, default=300, metavar="SECONDS", help="default: %(default)s"
    )
    progress.add_progress(parser)
    parser.epilog = (
        "Exit code 0: installed; 1: something is missing, or the operators are not ready."
    )


def run(arguments: argparse.Namespace) -> int:
    return uvloop.run(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    chosen = installation.of(arguments)
    wanted = [*operators.crds(chosen), *operators.objects(chosen)]
    async with connecting.connected(arguments) as client:
        if not arguments.skip_preflight and not await _is_ready(client, chosen, wanted):
            return errors.FAILED
        if release := await releases.owned_by_helm(client, wanted):
            raise errors.CommandError(
                f"the operators in {chosen.namespace!r} belong to release {release!r} of Helm",
                hint=f"upgrade it: helm upgrade {release} … -n {chosen.namespace}",
            )
        if arguments.dry_run:
            found = await releases.changes(client, chosen.namespace, wanted)
            output.data("\n".join(found) or "nothing to change")
            return 0
        await _install(client, arguments, chosen, wanted)
    if not (arguments.quiet or arguments.json):
        _print_next(chosen.namespace)
    return 0


async def _is_ready(client: Client, chosen: Installation, wanted: list[Desired]) -> bool:
    kinds = [each.kind for each in wanted]
    found = preflight.checks(await targets.read(client, kinds, chosen.namespace))
    if all(each.ok for each in found):
        return True
    doctor.show(found, "text")
    output.note("\nhint: run the fixes, then this command again; or --skip-preflight")
    return False


async def _install(
    client: Client, arguments: argparse.Namespace, chosen: Installation, wanted: list[Desired]
) -> None:
    phases = progress.phases_of(arguments)
    with phases.phase("CRDs, accounts and Deployments"):
        await releases.apply(client, chosen.namespace, wanted)
    with phases.phase("operators") as phase:
        within = timedelta(seconds=arguments.timeout)
        await releases.rolled_out(client, wanted, phase, within)


def _print_next(namespace: str) -> None:
    output.note(
        f"\nThe operators are ready in {namespace!r}.\n\n"
        "  cobalt doctor\n"
        "  kubectl apply -f examples/controlplane-minimal.yaml\n"
        "  kubectl get controlplanes -A -w"
    )
