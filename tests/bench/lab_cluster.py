"""The lab's cluster: how fast it starts and recovers, and how much memory it uses. Needs root."""

import os
import signal
import time
from collections.abc import Iterator

from tests.bench import measure, progress
from tests.bench.figures import Baseline, Figure, Goal, Options
from tests.support import workloads
from tests.support.control_plane import ControlPlaneHarness
from tests.support.lab import Lab, eventually

NODE = "hypervisor-2"
START_GOAL_SECONDS = 12.0
MEMORY_GOAL_MEBIBYTES = 800.0


def figures(options: Options) -> Iterator[Figure]:
    """Start labs from empty data and take their figures."""
    if not measure.is_root():
        return
    with measure.lab() as lab:
        # Whatever has to be built is built here; figures are for built artefacts.
        lab.up("--nodes", "1")
        lab.down("--purge")
        starts = [_cold_start(lab) for _ in range(1 if options.quick else 3)]
        yield from _median_of(starts, _bare_start())
        yield from _running(lab)


def _cold_start(lab: Lab) -> dict[str, float]:
    """Start from empty data; end with a running lab."""
    if lab.state_dir.directory.exists():
        lab.down("--purge")
    began = time.monotonic()
    result = lab.up()
    ready = time.monotonic() - began
    lab.load_image(NODE)
    lab.create("default", workloads.pod("first", lab.image, node=NODE))
    lab.wait_for_pod("default", "first")
    progress.report(f"  {ready:.1f} s, {result['seconds']}")
    return {"ready": ready, "first pod": time.monotonic() - began}


def _bare_start() -> Baseline:
    """The smallest possible start: etcd and an API server, without nodes."""

    def start() -> None:
        with ControlPlaneHarness():
            return

    return Baseline("etcd and API server alone", measure.seconds(start))


def _median_of(starts: list[dict[str, float]], bare: Baseline) -> Iterator[Figure]:
    names = {
        "ready": "lab: empty data to 3 Ready nodes, CoreDNS answers",
        "first pod": "lab: the same and a first pod Ready, its image imported",
    }
    for key, name in names.items():
        values = sorted(start[key] for start in starts)
        value = round(values[len(values) // 2], 1)
        yield Figure(name, value, "s", bare, Goal(START_GOAL_SECONDS))


def _running(lab: Lab) -> Iterator[Figure]:
    mebibytes = round(measure.mebibytes(lab.processes()))
    yield Figure(
        "lab: memory of all processes, 3 nodes (PSS)",
        mebibytes,
        "MiB",
        goal=Goal(MEMORY_GOAL_MEBIBYTES),
    )
    yield Figure("lab: `cobalt up` when everything is up", measure.seconds(lab.up), "s")
    yield Figure(
        "lab: the pod of a killed node runs again", measure.seconds(lambda: _lose(lab)), "s"
    )
    lab.kill_everything()
    yield Figure("lab: `cobalt up` after everything was killed", measure.seconds(lab.up), "s")
    yield Figure(
        "lab: one more node is Ready", measure.seconds(lambda: lab.up("--nodes", "4")), "s"
    )
    yield Figure("lab: `cobalt down`", measure.seconds(lab.down), "s")


def _lose(lab: Lab) -> None:
    """Kill the node of the first pod and wait until the pod runs again."""
    pid = lab.node(NODE).pid()
    assert pid
    os.kill(pid, signal.SIGKILL)

    def runs_again() -> bool:
        statuses = lab.get("pod", "first").get("status", {}).get("containerStatuses", [])
        return any(each["restartCount"] and each["ready"] for each in statuses)

    eventually(runs_again, "the pod runs again")
