"""Run the benches: every module `bench_*` or `lab*` beside this one that has a function `figures`.

Prints a table, writes .cache/bench.json; progress goes to standard error.
"""

import argparse
import importlib
import json
import os
import pkgutil
import platform
import sys
from collections.abc import Iterator
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


def measure(chosen: dict[str, Bench], options: Options) -> Iterator[tuple[str, Figure]]:
    """Run benches one after the other."""
    for name, figures in chosen.items():
        progress.tell(f"bench {name}")
        for figure in figures(options):
            yield name, figure


def main(argv: list[str]) -> int:
    """Measure and print."""
    known = benches()
    arguments = parse(argv, known=known)
    chosen = {name: known[name] for name in arguments.only or sorted(known)}
    found = list(measure(chosen, Options(quick=arguments.quick)))
    figures = [{"bench": name, **figure.as_json()} for name, figure in found]
    result = {"machine": machine(), "quick": arguments.quick, "figures": figures}
    encoded = json.dumps(result, indent=2)
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(encoded + "\n")
    print(encoded if arguments.json else table(figure for _, figure in found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
