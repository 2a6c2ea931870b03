"""Arguments of the limits on pods with rights over their node."""

import argparse

from cobaltcore.engine.podpolicy import PodPolicy


def configure(parser: argparse.ArgumentParser) -> None:
    default = PodPolicy()
    parser.add_argument(
        "--allowed-registries",
        type=_words,
        default=tuple(default.registries),
        metavar="REGISTRY,…",
        help="that images of pods with rights over their node come from "
        f"(default: {','.join(default.registries)})",
    )
    parser.add_argument(
        "--allowed-node-labels",
        type=_words,
        default=tuple(default.node_labels),
        metavar="KEY[=VALUE],…",
        help=f"of nodes on which such pods run (default: {','.join(default.node_labels)})",
    )


def policy(arguments: argparse.Namespace) -> PodPolicy:
    return PodPolicy(arguments.allowed_registries, arguments.allowed_node_labels)


def _words(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())
