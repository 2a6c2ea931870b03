"""The command of the images: finds the module of an agent and runs its `main`.

cobalt-agent GROUP NAME [ARGUMENT...]         run an agent
cobalt-agent ready GROUP NAME [ARGUMENT...]   whether an agent works; for readiness probes
cobalt-agent check                            load every agent of this image
"""

import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

PACKAGE = "cobaltcore.agents"
ROOT = Path(__file__).parent
Outcome = int | str | None
"""As for sys.exit: an exit code, or what is wrong; None: success."""


def main() -> None:
    """Run the agent that the command line names."""
    sys.exit(dispatch(sys.argv[1:]))


def dispatch(words: Sequence[str], root: Path = ROOT) -> Outcome:
    """Run one command of those that are installed below `root`."""
    match words:
        case ["check"]:
            return check(root)
        case ["ready", group, name, *arguments] if agent := find(group, name, root):
            return _result(agent.readiness_problem(arguments))
        case [group, name, *arguments] if agent := find(group, name, root):
            return _result(agent.main(arguments))
        case ["-h" | "--help"]:
            sys.stdout.write(usage(root))
            return None
    return f"{usage(root)}\nno such agent in this image: {' '.join(words[:2]) or '(none named)'}"


def installed(root: Path = ROOT) -> dict[tuple[str, str], str]:
    """The agents that an image has, and what each is for."""
    return dict(_found(root))


def find(group: str, name: str, root: Path = ROOT) -> ModuleType | None:
    """One agent, without a look at the others: probes come often."""
    is_module = (root / group / f"{_module(name)}.py").is_file()
    found = load(group, name) if is_module else None
    return found if hasattr(found, "main") else None


def load(group: str, name: str) -> ModuleType:
    """The module of an agent."""
    return importlib.import_module(f"{PACKAGE}.{group}.{_module(name)}")


def check(root: Path = ROOT) -> Outcome:
    """Load every agent; an image that lacks what one needs fails its build."""
    names = list(installed(root))
    for group, name in names:
        load(group, name)
    sys.stdout.write(f"{len(names)} agents: {', '.join(map(' '.join, names))}\n")
    return None if names else "this image has no agents"


def usage(root: Path = ROOT) -> str:
    """How the command is used, and the agents to choose from."""
    lines = [f"  {' '.join(words):28}{text}\n" for words, text in installed(root).items()]
    return f"{__doc__}\nagents in this image:\n{''.join(lines)}"


def _found(root: Path) -> Iterator[tuple[tuple[str, str], str]]:
    """Modules of groups that define `main`, read without loading what they import."""
    import ast  # only for people: it costs a probe a third of its time

    for path in sorted(root.glob("*/*.py")):
        tree = ast.parse(path.read_text())
        if any(isinstance(each, ast.FunctionDef) and each.name == "main" for each in tree.body):
            summary = (ast.get_docstring(tree) or "").partition("\n")[0]
            yield (path.parent.name, path.stem.replace("_", "-")), summary


def _module(name: str) -> str:
    return name.replace("-", "_")


def _result(value: object) -> Outcome:
    return value if isinstance(value, int | str) else None
