"""The `cobalt` command: finds the commands in `cli/commands` and runs one of them."""

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Protocol, cast

import cobaltcore.cli.commands
from cobaltcore.cli import errors, output


class Command(Protocol):
    """What a module in `cli/commands` offers; its file name is the command's name."""

    HELP: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        ...

    def run(self, arguments: argparse.Namespace) -> int:
        """Carry it out; return the exit code."""
        ...


def commands(chosen: str = "") -> dict[str, Command]:
    """All commands by name, or only the chosen one: others may take long to import."""
    names = [module.name for module in pkgutil.iter_modules(cobaltcore.cli.commands.__path__)]
    prefix = cobaltcore.cli.commands.__name__
    return {
        name: cast("Command", importlib.import_module(f"{prefix}.{name}"))
        for name in ([chosen] if chosen in names else names)
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


def _verb(words: Sequence[str]) -> int:
    """Where the command's name is; the end if there is none."""
    return next((i for i, word in enumerate(words) if not word.startswith("-")), len(words))


def _shielded(words: Sequence[str], own: Sequence[str]) -> list[str]:
    """Keep all options from parsing but a command's own: the others are for whom it calls."""
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
