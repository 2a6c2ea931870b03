"""Arguments of an installation of the operators: its namespace and values."""

import argparse
from pathlib import Path
from typing import Any

import yaml

from cobaltcore.cli import errors, limits
from cobaltcore.deploy import operators
from cobaltcore.deploy.values import Installation, Values, image_of, merge


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-n",
        "--namespace",
        default=operators.NAMESPACE,
        help="of the operators (default: %(default)s)",
    )
    parser.add_argument(
        "-f",
        "--values",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="values of the chart as YAML (repeatable, the last one counts)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="one value, for example replicaCount=1 or operators.nova.enabled=false (repeatable)",
    )
    parser.add_argument(
        "--image", metavar="REFERENCE", help="of the operators, by tag or digest: as --set image.…"
    )
    parser.add_argument("--no-crds", action="store_true", help="as --set crds.install=false")
    parser.add_argument(
        "--watch-namespace",
        metavar="NAMESPACE",
        help="serve the objects of this namespace only, with Roles in it (default: all)",
    )
    limits.configure(parser)
    parser.set_defaults(allowed_registries=None, allowed_node_labels=None)


def of(arguments: argparse.Namespace) -> Installation:
    """The installation that the arguments describe: files, then options, then --set."""
    found: Values = {}
    for path in arguments.values:
        found = merge(found, _read(path))
    options = {
        "image": image_of(arguments.image) if arguments.image else None,
        "crds": {"install": False} if arguments.no_crds else None,
        "watchNamespace": arguments.watch_namespace,
        "allowedRegistries": _list(arguments.allowed_registries),
        "allowedNodeLabels": _list(arguments.allowed_node_labels),
    }
    found = merge(found, {key: value for key, value in options.items() if value is not None})
    for each in arguments.set:
        found = merge(found, _parsed(each))
    return Installation(arguments.namespace, found)


def _list(words: tuple[str, ...] | None) -> list[str] | None:
    return None if words is None else list(words)


def _read(path: Path) -> Values:
    try:
        found = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise errors.CommandError(f"{path} cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise errors.CommandError(f"{path} is not valid YAML: {error}") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise errors.CommandError(f"{path}: values are a map, this is a {type(found).__name__}")
    return found


def _parsed(text: str) -> Values:
    """PATH=VALUE; the value is YAML, so that numbers, switches and lists are what they look like."""
    path, equals, value = text.partition("=")
    if not equals or not all(path.split(".")):
        raise errors.CommandError(
            f"--set {text!r} is not of the form PATH=VALUE",
            hint="for example --set replicaCount=1; keys with dots go into a file: --values FILE",
        )
    try:
        found: Any = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise errors.CommandError(f"--set {text!r}: the value is not valid YAML") from error
    for key in reversed(path.split(".")):
        found = {key: "" if found is None else found}
    result: Values = found
    return result
