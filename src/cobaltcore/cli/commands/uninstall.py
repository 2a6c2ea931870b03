"""`cobalt uninstall`: remove the operators; what they manage keeps running."""

import argparse

import uvloop

from cobaltcore.cli import connecting, errors, output, releases
from cobaltcore.deploy import operators

HELP = "remove the operators from a cluster; clouds keep running, CRDs and data stay"


def configure(parser: argparse.ArgumentParser) -> None:
    connecting.configure_connection(parser)
    parser.add_argument(
        "-n",
        "--namespace",
        default=operators.NAMESPACE,
        help="of the operators (default: %(default)s)",
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would be deleted")


def run(arguments: argparse.Namespace) -> int:
    return uvloop.run(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    namespace: str = arguments.namespace
    async with connecting.connected(arguments) as client:
        found = await releases.inventory(client, namespace)
        if found is None:
            raise errors.CommandError(
                f"there is no installation of `cobalt install` in namespace {namespace!r}",
                hint="of Helm: helm uninstall; of manifests: cobalt manifests --no-crds | "
                "kubectl delete -f -",
            )
        if arguments.dry_run:
            output.data("\n".join(f"delete {releases.name(each)}" for each in found))
            return 0
        await releases.remove(client, namespace, found)
    output.note(
        f"{len(found)} objects of the operators deleted. CRDs, the namespace {namespace!r} and "
        "all that the operators manage are kept."
    )
    return 0
