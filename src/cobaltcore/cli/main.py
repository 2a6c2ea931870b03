"""The `cobalt` command: finds commands and runs one of them.

The product's commands are the modules of `cli/commands`; other packages add theirs as entry points
of the group `cobalt.commands`, so that the operators' image has only those that work there.
"""

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Protocol, cast

import cobaltcore.cli.commands
from cobaltcore.cli import errors, extensions, output


class Command(Protocol):
    """The module of a command."""

    HELP: str

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> int:
        """Carry out the command; return the exit code."""
        ...


def commands(chosen: str = "") -> dict[str, Command]:
    """All commands by name, or only the chosen one, to save the import of the others."""
    modules = _modules()
    return {
        name: cast("Command", importlib.import_module(modules[name]))
        for name in ([chosen] if chosen in modules else modules)
    }


def _modules() -> dict[str, str]:
    package = cobaltcore.cli.commands
    own = {
        module.name: f"{package.__name__}.{module.name}"
        for module in pkgutil.iter_modules(package.__path__)
    }
    added = extensions.of("cobalt.commands")
    return {**own, **{each.name: each.value for each in added}}


def parser(known: dict[str, Command]) -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="cobalt", description="OpenStack on Kubernetes.")
    root.add_argument("--version", action="version", version=f"cobalt {version('cobaltcore')}")
    root.add_argument("--debug", action="store_true", help="show tracebacks")
    verbs = root.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in sorted(known.items()):
        sub = verbs.add_parser(name, help=command.HELP, description=command.HELP)
        # Also after the command, where people type it; SUPPRESS keeps the value of the earlier one.
        sub.add_argument(
            "--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks"
        )
        command.configure(sub)
    return root


def _verb(words: Sequence[str]) -> int:
    """The index of the command's name; the length if there is none."""
    return next((i for i, word in enumerate(words) if not word.startswith("-")), len(words))


def _shielded(words: Sequence[str], own: Sequence[str]) -> list[str]:
    """Exclude all options but a command's own from parsing: they are for the program it calls."""
    rest = _verb(words) + 1
    while rest < len(words) and words[rest].partition("=")[0] in own:
        rest += 1 if "=" in words[rest] else 2
    return [*words[:rest], "--", *words[rest:]]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
    except SystemExit:  # after a text that argparse has printed
        if output.is_reader_gone():
            return errors.READER_GONE
        raise
    return errors.READER_GONE if output.is_reader_gone() else code


def _run(words: list[str]) -> int:
    chosen = "".join(words[_verb(words) :][:1])
    known = commands(chosen)
    own: Sequence[str] | None = getattr(known.get(chosen), "OWN_FLAGS", None)
    arguments = parser(known).parse_args(words if own is None else _shielded(words, own))
    try:
        return known[arguments.command].run(arguments)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 the edge of the program
        if output.is_reader_gone():
            return errors.READER_GONE
        return errors.report(error, debug=arguments.debug)


if __name__ == "__main__":
    sys.exit(main())
