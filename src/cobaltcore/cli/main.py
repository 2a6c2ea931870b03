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


def _shielded(argv: Sequence[str], known: dict[str, Command]) -> list[str]:
    """Keep options of a command that only passes them on (`OWN_FLAGS` are its own) from parsing."""
    words = list(argv)
    verb = next((i for i, word in enumerate(words) if not word.startswith("-")), None)
    own: Sequence[str] | None = (
        getattr(known.get(words[verb]), "OWN_FLAGS", None) if verb is not None else None
    )
    if verb is None or own is None:
        return words
    rest = verb + 1
    while rest < len(words) and words[rest].partition("=")[0] in own:
        rest += 1 if "=" in words[rest] else 2
    return [*words[:rest], "--", *words[rest:]]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    known = commands()
    arguments = parser(known).parse_args(_shielded(sys.argv[1:] if argv is None else argv, known))
    try:
        return known[arguments.command].run(arguments)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 the edge of the program
        return errors.report(error, debug=arguments.debug)


if __name__ == "__main__":
    sys.exit(main())
