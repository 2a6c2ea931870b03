"""The `cobalt` command: finds the commands in `cli/commands` and runs one of them."""

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Protocol, cast

import cobaltcore.cli.commands
from cobaltcore.cli import errors


class Command(Protocol):
    """What a module in `cli/commands` offers; its file name is the command's name."""

    HELP: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        ...

    def run(self, arguments: argparse.Namespace) -> int:
        """Carry it out; return the exit code."""
        ...


def commands() -> dict[str, Command]:
    """All commands by name."""
    found = pkgutil.iter_modules(cobaltcore.cli.commands.__path__)
    prefix = cobaltcore.cli.commands.__name__
    return {
        module.name: cast("Command", importlib.import_module(f"{prefix}.{module.name}"))
        for module in found
    }


def parser(known: dict[str, Command]) -> argparse.ArgumentParser:
    """The command line as a whole."""
    root = argparse.ArgumentParser(prog="cobalt", description="OpenStack on Kubernetes.")
    root.add_argument("--version", action="version", version=f"cobalt {version('cobaltcore')}")
    root.add_argument("--debug", action="store_true", help="show tracebacks")
    verbs = root.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in sorted(known.items()):
        sub = verbs.add_parser(name, help=command.HELP, description=command.HELP)
        # Also after the command, where people type it; SUPPRESS keeps the value given before.
        sub.add_argument(
            "--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks"
        )
        command.configure(sub)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    known = commands()
    arguments = parser(known).parse_args(argv)
    try:
        return known[arguments.command].run(arguments)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 the edge of the program
        return errors.report(error, debug=arguments.debug)


if __name__ == "__main__":
    sys.exit(main())
