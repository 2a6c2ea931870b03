"""200 Keystones on simulated nodes: the operator as a process, from nothing to Ready, and again.

The Keystones exist before the operator starts; their database is external. Pods are simulated
(KWOK), so a Keystone is Ready as soon as the operator and Kubernetes are done with it. CPU and
memory are those of the operator's process, requests those that the API server counts in its audit
log. COBALT_BENCH_BASELINE may name the `cobalt` of another version, measured in turns.
"""

import asyncio
import os
import statistics
from collections.abc import Iterator

from tests.bench import keystones, progress
from tests.bench.figures import Baseline, Figure, Options

COUNT, QUICK_COUNT = 200, 10
ROUNDS = 3
OURS = ".venv/bin/cobalt"
BASELINE = "COBALT_BENCH_BASELINE"

ROWS = (
    ("ready_s", "start until all Ready", "s"),
    ("first_s", "start until the first Ready", "s"),
    ("cpu_s", "CPU until all Ready", "s"),
    ("requests", "API requests until all Ready", "requests"),
    ("rss_mib", "peak RSS", "MiB"),
    ("exit_s", "SIGTERM to exit", "s"),
    ("restart_cpu_s", "CPU of a restart with nothing to do", "s"),
    ("restart_requests", "API requests of a restart with nothing to do", "requests"),
    ("base_cpu_s", "CPU of a start without objects", "s"),
    ("base_rss_mib", "peak RSS without objects", "MiB"),
)


def figures(options: Options) -> Iterator[Figure]:
    """The medians of a few rounds, each on a control plane of its own."""
    count, rounds = (QUICK_COUNT, 1) if options.quick else (COUNT, ROUNDS)
    other = os.environ.get(BASELINE)
    programs = [OURS, other] if other else [OURS]
    found: dict[str, list[dict[str, float]]] = {each: [] for each in programs}
    for number in range(rounds):
        # In turns, so that none is always the first on a machine that gets slower.
        for program in programs[:: -1 if number % 2 else 1]:
            values = asyncio.run(keystones.trial(program, count=count))
            progress.report(f"  {program}: {values}")
            found[program].append(values)
    for value, title, unit in ROWS:
        medians = {
            each: statistics.median(values[value] for values in of) for each, of in found.items()
        }
        baseline = Baseline("another version", round(medians[other], 2)) if other else None
        yield Figure(f"{title} · {count} Keystones", round(medians[OURS], 2), unit, baseline)
