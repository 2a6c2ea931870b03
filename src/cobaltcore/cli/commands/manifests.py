"""`cobalt manifests`: print all objects that install the operators."""

import argparse

from cobaltcore.api import crd
from cobaltcore.cli import limits, output
from cobaltcore.deploy import operators, processes
from cobaltcore.runtime.meta import Desired, Object

HELP = "print CRDs, Namespace, RBAC, policies, Services and Deployments of the operators"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--namespace", default=operators.NAMESPACE, help="of the operators (default: %(default)s)"
    )
    parser.add_argument(
        "--image",
        default=operators.default_image(),
        metavar="REFERENCE",
        help="of the operators (default: %(default)s)",
    )
    limits.configure(parser)
    parser.add_argument(
        "--single-process",
        action="store_true",
        help="run all operators in one Deployment, whose account may do what any of them may",
    )
    parser.add_argument(
        "--watch-namespace",
        default="",
        metavar="NAMESPACE",
        help="serve the objects of this namespace only, with Roles in it (default: all)",
    )
    parser.add_argument("--no-crds", action="store_true", help="print no CRDs")
    parser.epilog = "Install the operators: cobalt manifests | kubectl apply --server-side -f -"


def run(arguments: argparse.Namespace) -> int:
    crds = [] if arguments.no_crds else crd.manifests()
    single = arguments.single_process
    desired = operators.objects(
        namespace=arguments.namespace,
        image=arguments.image,
        running=processes.one_for_all() if single else processes.one_each(),
        pods=limits.policy(arguments),
        watched=arguments.watch_namespace,
    )
    output.data(crd.to_yaml([*crds, *(_manifest(each) for each in desired)]))
    return 0


def _manifest(desired: Desired) -> Object:
    return {
        "apiVersion": desired.kind.api_version,
        "kind": desired.kind.kind,
        **desired.body,
    }
