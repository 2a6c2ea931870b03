"""`cobalt crds`: print the CRDs."""

import argparse

from cobaltcore.api import base, crd
from cobaltcore.cli import errors, output

HELP = "print the CustomResourceDefinitions of all kinds"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kinds", nargs="*", metavar="KIND", help="only these, for example Keystone"
    )
    parser.epilog = "Install them: cobalt crds | kubectl apply --server-side -f -"


def run(arguments: argparse.Namespace) -> int:
    known = {definition.kind.kind.lower(): definition for definition in base.definitions()}
    wanted = [name.lower() for name in arguments.kinds] or list(known)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        names = ", ".join(sorted(definition.kind.kind for definition in known.values()))
        raise errors.CommandError(f'there is no kind "{unknown[0]}"', hint=f"kinds are {names}")
    output.data(crd.to_yaml([crd.manifest(known[name]) for name in wanted]))
    return 0
