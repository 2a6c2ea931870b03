"""This runtime compared with Kopf, on the same API server in one run.

Each operator is a process of its own that handles objects of one kind, about 1 kB each. The work
per object is the same on both sides, in two cases:

- read: look at the spec of every changed object, write nothing;
- write: answer every change of a spec with one PATCH of the status, and none if it is answered.

Kopf does both with on.create, on.update and on.resume, the handlers that operators on Kopf are
commonly written with: they distinguish a change from a repetition and try again after an error, as a pass
here does. They run with Kopf's own settings, and with those that save work on any kind: the goal is
for both. A third set-up saves more, on kinds that keep unknown fields in their status; none of ours
does (docs/decisions/0033-which-kopf.md). One trial of an operator is:
started over untouched objects until all are handled; all objects changed, several times over, in
turns with the others of its case; a trickle of changes; a storm on one object; started again over
handled objects. CPU is the user and system time of the operator's process, memory its VmHWM. An
object is handled when the handler saw it (read) or when the server has the answer (write). The bare
watch is the bench's own: it shows what of a delay is the API server's and the machine's.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import uvloop

from tests.bench import trial, widget
from tests.bench.figures import Baseline, Figure, Goal, Options
from tests.bench.trial import Amount, Candidate
from tests.support.control_plane import ControlPlaneHarness

_OURS = "tests.bench.operators.ours"
_KOPF = "tests.bench.operators.kopf_based"
_KOPF_SETUPS = {"Kopf": "plain", "Kopf, quiet": "quiet", "Kopf, lenient kind": "lenient"}
PEERS = ("Kopf", "Kopf, quiet")
"""What a reconcile is compared with where a goal is a ratio."""
READ = Candidate("ours", _OURS, "read")
WRITE = Candidate("ours", _OURS, "write")
MATCHES = tuple(
    (
        ours,
        [Candidate(name, _KOPF, f"{setup}-{ours.case}") for name, setup in _KOPF_SETUPS.items()],
    )
    for ours in (READ, WRITE)
)

AMOUNTS = (
    Amount(objects=1000, rounds=3, trickle=200, storm=2000),
    Amount(objects=5000, rounds=3),
)
QUICK = (Amount(objects=100, rounds=1, trickle=50, storm=300), Amount(objects=300, rounds=1))


@dataclass(frozen=True, slots=True)
class Row:
    """How a value of a trial is shown."""

    value: str
    title: str
    unit: str
    goal: Goal | None = None
    goal_up_to: int = 5000
    """The largest number of objects that the goal is meant for."""


ROWS = (
    Row("change_cpu_ms", "CPU per change", "ms", Goal(0.15, of="ratio")),
    Row("changes_s", "all changed until all handled", "s"),
    Row("start_s", "start until all handled", "s"),
    Row("restart_s", "start-up sync, nothing to do", "s"),
    Row("restart_cpu_s", "CPU of start-up sync", "s"),
    Row("peak_rss_mb", "peak RSS", "MB", Goal(70), goal_up_to=1000),
    Row("delay_p50_ms", "event to reconcile p50", "ms"),
    Row("delay_p95_ms", "event to reconcile p95", "ms", Goal(100)),
    Row("bare_p95_ms", "event to a bare watch in parallel p95", "ms"),
    Row("storm_runs", "storm on one object: runs", "runs", Goal(10)),
    Row("storm_cpu_s", "storm on one object: CPU", "s"),
    Row("storm_rest_s", "storm on one object: end until handled", "s"),
)

Values = dict[Candidate, dict[str, float]]


def figures(options: Options) -> Iterator[Figure]:
    """Measure all candidates at all sizes."""
    amounts = QUICK if options.quick else AMOUNTS
    with ControlPlaneHarness() as plane:
        plane.install_crds([widget.CRD])
        for amount in amounts:
            yield from _rows(amount, _values(plane, amount))


def _values(plane: ControlPlaneHarness, amount: Amount) -> Values:
    values: Values = {}
    for ours, others in MATCHES:
        values |= uvloop.run(trial.run(plane, (ours, *others), amount))
    return values


def _rows(amount: Amount, values: Values) -> Iterator[Figure]:
    pairs = [(ours, other) for ours, others in MATCHES for other in others]
    for row in ROWS:
        for ours, other in pairs:
            if row.value in values[ours]:
                yield Figure(
                    f"{row.title} · {ours.case} · {amount.objects}",
                    round(values[ours][row.value], 4),
                    row.unit,
                    Baseline(other.name, round(values[other][row.value], 4)),
                    _goal(row, amount, other),
                )


def _goal(row: Row, amount: Amount, other: Candidate) -> Goal | None:
    if row.goal is None or amount.objects > row.goal_up_to:
        return None
    return row.goal if row.goal.of != "ratio" or other.name in PEERS else None
