"""Run the benches: every module `bench_*` or `lab*` next to this one that has a function `figures`.

Prints a table, writes .cache/bench.json; progress is written to standard error.
"""

import argparse
import importlib
import json
import os
import pkgutil
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests import bench
from tests.bench import progress
from tests.bench.figures import Bench, Figure, Options, table

RESULT = Path(__file__).parents[2] / ".cache" / "bench.json"
PREFIXES = ("bench_", "lab")


def benches() -> dict[str, Bench]:
    """All benches by the name of their module, without `bench_`."""
    names = [
        each.name
        for each in pkgutil.iter_modules(bench.__path__)
        if each.name.startswith(PREFIXES)
    ]
    modules = {name: importlib.import_module(f"{bench.__name__}.{name}") for name in names}
    return {
        name.removeprefix("bench_"): module.figures
        for name, module in modules.items()
        if hasattr(module, "figures")
    }


def parse(argv: list[str], *, known: dict[str, Bench]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.run", description=__doc__)
    parser.add_argument("--only", choices=sorted(known), action="append", help="run this one")
    parser.add_argument("--quick", action="store_true", help="a small load, to try it out")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args(argv)


def machine() -> dict[str, Any]:
    """Where the figures come from, in general words."""
    return {
        "cores": os.cpu_count(),
        "load_average": [round(each, 1) for each in os.getloadavg()],
        "python": platform.python_version(),
        "measured": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


class Run:
    """Benches one after the other; one that fails does not cost the figures of the others."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.figures: list[tuple[str, Figure]] = []
        self.failed: list[str] = []

    def measure(self, name: str, figures: Bench) -> None:
        """Run one bench."""
        progress.report(f"bench {name}")
        try:
            self.figures += ((name, figure) for figure in figures(self._options))
        except Exception as error:  # noqa: BLE001 - printed, and part of the exit code
            progress.report(f"bench {name} failed: {error}")
            self.failed.append(name)

    def as_json(self) -> str:
        """Everything that was found out, for machines."""
        result = {
            "machine": machine(),
            "quick": self._options.quick,
            "failed": self.failed,
            "figures": [{"bench": name, **figure.as_json()} for name, figure in self.figures],
        }
        return json.dumps(result, indent=2)


def main(argv: list[str]) -> int:
    """Measure and print."""
    known = benches()
    arguments = parse(argv, known=known)
    run = Run(Options(quick=arguments.quick))
    for name in arguments.only or sorted(known):
        run.measure(name, known[name])
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(run.as_json() + "\n")
    print(run.as_json() if arguments.json else table(figure for _, figure in run.figures))
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
