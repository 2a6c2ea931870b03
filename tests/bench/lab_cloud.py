"""A whole cloud: from empty data to a server that answers, and back after a stop. Needs root.

The clocks are those that `cobalt up` shows; a start is measured with programs and images built.
"""

from collections.abc import Iterator, Mapping

from tests.bench import measure, progress
from tests.bench.figures import Baseline, Figure, Goal, Options
from tests.support.lab import Lab

# The same services as plain processes, without Kubernetes, as measured once on such a machine.
FLOOR = Baseline("plain processes, measured once", 52.0)
FIRST_GOAL_SECONDS = 150.0
AGAIN_GOAL_SECONDS = 75.0
PARTS = "control plane"
DEMO = "demo:"


def figures(_: Options) -> Iterator[Figure]:
    """Bring a cloud up from nothing, stop it, and bring it back."""
    if not measure.is_root():
        return
    with measure.lab() as lab:
        # Whatever has to be built is built here.
        lab.up(until="demo")
        lab.down("--purge")
        first = _up(lab)
        yield from _clocks("empty data", first)
        yield Figure(
            "cloud: empty data to a server that answers",
            first["total"],
            "s",
            FLOOR,
            Goal(FIRST_GOAL_SECONDS),
        )
        yield Figure("cloud: `cobalt down`", measure.seconds(lab.down), "s")
        again = _up(lab)
        yield from _clocks("after `cobalt down`", again)
        yield Figure(
            "cloud: after `cobalt down` to all Ready",
            round(again["total"] - _of_the_demo(again), 1),
            "s",
            FLOOR,
            Goal(AGAIN_GOAL_SECONDS),
        )
        yield Figure("cloud: `cobalt up` when everything is up", _up(lab)["total"], "s")
        memory = measure.mebibytes(lab.processes())
        yield Figure("cloud: memory of all processes (PSS)", round(memory), "MiB")
        yield Figure(
            "cloud: `cobalt down --purge`", measure.seconds(lambda: lab.down("--purge")), "s"
        )


def _up(lab: Lab) -> Mapping[str, float]:
    """The seconds of all phases, by name."""
    found: Mapping[str, float] = lab.up(until="demo")["seconds"]
    progress.report(f"  {found}")
    return {name: round(each, 1) for name, each in found.items()}


def _clocks(name: str, seconds: Mapping[str, float]) -> Iterator[Figure]:
    yield Figure(f"cloud: {name}: control plane, all parts", seconds[PARTS], "s")
    yield Figure(f"cloud: {name}: demo server", round(_of_the_demo(seconds), 1), "s")


def _of_the_demo(seconds: Mapping[str, float]) -> float:
    return sum(each for name, each in seconds.items() if name.startswith(DEMO))
