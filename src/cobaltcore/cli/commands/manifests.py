"""`cobalt manifests`: print all objects that install the operators."""

import argparse

from cobaltcore.api import crd
from cobaltcore.cli import installation, output
from cobaltcore.deploy import operators, processes
from cobaltcore.runtime.meta import Desired, Object

HELP = "print CRDs, Namespace, RBAC, policies, Services and Deployments of the operators"


def configure(parser: argparse.ArgumentParser) -> None:
    installation.configure(parser)
    parser.add_argument(
        "--single-process",
        action="store_true",
        help="run all operators in one Deployment, whose account may do what any of them may",
    )
    parser.epilog = "Install the operators: cobalt manifests | kubectl apply --server-side -f -"


def run(arguments: argparse.Namespace) -> int:
    wanted = installation.of(arguments)
    single = arguments.single_process
    desired = operators.objects(
        wanted, processes.one_for_all() if single else processes.one_each()
    )
    output.data(crd.to_yaml(map(manifest, [*operators.crds(wanted), *desired])))
    return 0


def manifest(desired: Desired) -> Object:
    return {
        "apiVersion": desired.kind.api_version,
        "kind": desired.kind.kind,
        **desired.body,
    }
