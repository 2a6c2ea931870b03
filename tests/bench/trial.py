"""Operators under all loads, at one number of objects; changes in turns, so that a machine that
is slower for a while is slower for all of them."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Self

from cobaltcore.runtime import kubeconfig
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.http_transport import HttpTransport
from tests.bench import child, load, progress
from tests.support.control_plane import ControlPlaneHarness


@dataclass(frozen=True, slots=True)
class Candidate:
    """An operator module in one case of work."""

    name: str
    module: str
    case: str

    @property
    def writes(self) -> bool:
        """Whether it answers changes with a write."""
        return self.case.endswith("write")


@dataclass(frozen=True, slots=True)
class Amount:
    """How much load; no trickle and no storm if they are 0."""

    objects: int
    rounds: int
    trickle: int = 0
    storm: int = 0
    trickle_per_second: float = 25


async def run(
    plane: ControlPlaneHarness, candidates: Sequence[Candidate], amount: Amount
) -> dict[Candidate, dict[str, float]]:
    """Measure candidates in parallel; values by name, with the unit in the name."""
    async with AsyncExitStack() as prepared:
        trials = [
            await prepared.enter_async_context(Trial(plane, candidate, amount).prepared())
            for candidate in candidates
        ]
        async with AsyncExitStack() as running:
            operators = [
                (trial, await running.enter_async_context(trial.started())) for trial in trials
            ]
            for number in range(amount.rounds):
                progress.report(f"all objects change, round {number + 1} of {amount.rounds}")
                for trial, operator in operators:
                    await trial.change(operator)
            for trial, operator in operators:
                await trial.finish(operator)
        for trial in trials:
            await trial.restart()
    return {candidate: trial.values for candidate, trial in zip(candidates, trials, strict=True)}


class Trial:
    """Measures one candidate in its own namespace."""

    def __init__(self, plane: ControlPlaneHarness, candidate: Candidate, amount: Amount) -> None:
        self._plane = plane
        self._candidate = candidate
        self._amount = amount
        self._namespace = plane.create_namespace("bench")
        self._cpu: list[float] = []
        self._wall: list[float] = []
        self.values: dict[str, float] = {}

    @asynccontextmanager
    async def prepared(self) -> AsyncIterator[Self]:
        """Create the objects and watch their status."""
        connection = kubeconfig.load(self._plane.kubeconfig(), environ={})
        client = Client(HttpTransport(connection, agent="bench-load"))
        try:
            self._load = load.Load(client, self._namespace, objects=self._amount.objects)
            await self._load.create()
            async with load.answers(client, self._namespace) as self._answers:
                yield self
        finally:
            await client.close()

    @asynccontextmanager
    async def started(self) -> AsyncIterator[child.Operator]:
        """Start the operator for the first time."""
        async with self._operator() as operator:
            self._tell()
            await self._started(operator, "start")
            yield operator

    async def change(self, operator: child.Operator) -> None:
        """All objects change; the middle one of some rounds counts."""
        count = self._amount.objects
        before, started = await operator.report(), time.perf_counter()
        await self._load.change_all()
        after = await self._handled(operator, objects=count)
        self._wall.append(time.perf_counter() - started)
        self._cpu.append((after.cpu_seconds - before.cpu_seconds) / count * 1000)

    async def finish(self, operator: child.Operator) -> None:
        """Everything that is measured once, while the operator runs."""
        self._tell()
        self._note("change_cpu_ms", statistics.median(self._cpu))
        self._note("changes_s", statistics.median(self._wall))
        if self._amount.trickle:
            await self._trickle(operator)
        if self._amount.storm:
            await self._storm(operator)
        report = await operator.report()
        self._note("peak_rss_mb", report.peak_rss_kib * 1024 / 1e6)

    async def restart(self) -> None:
        """Start the operator again over objects that are handled."""
        self._tell()
        async with self._operator() as operator:
            await self._started(operator, "restart")

    @asynccontextmanager
    async def _operator(self) -> AsyncIterator[child.Operator]:
        async with child.running(
            self._candidate.module,
            self._candidate.case,
            namespace=self._namespace,
            kubeconfig=self._plane.kubeconfig(),
            log=self._plane.directory / f"{self._namespace}.log",
        ) as operator:
            yield operator

    async def _started(self, operator: child.Operator, name: str) -> None:
        report = await self._handled(operator, objects=self._amount.objects)
        self._note(f"{name}_s", time.perf_counter() - operator.started)
        self._note(f"{name}_cpu_s", report.cpu_seconds)

    async def _trickle(self, operator: child.Operator) -> None:
        """A few changes a second, to see how long one takes to arrive on a calm server."""
        await operator.report()
        self._answers.arrivals.delays_ms()
        count = min(self._amount.trickle, self._amount.objects)
        await self._load.change_slowly(count, per_second=self._amount.trickle_per_second)
        report = await self._handled(operator, objects=count)
        self._note("delay_p50_ms", report.delay_p50_ms)
        self._note("delay_p95_ms", report.delay_p95_ms)
        _, bare = self._answers.arrivals.delays_ms()
        self._note("bare_p95_ms", bare)

    async def _storm(self, operator: child.Operator) -> None:
        """One object changes all the time."""
        before = await operator.report()
        await self._load.storm(self._amount.storm)
        calm = time.perf_counter()
        after = await self._handled(operator, objects=1)
        self._note("storm_runs", after.runs - before.runs)
        self._note("storm_cpu_s", after.cpu_seconds - before.cpu_seconds)
        self._note("storm_rest_s", time.perf_counter() - calm)

    async def _handled(self, operator: child.Operator, *, objects: int) -> child.Report:
        """Wait until the last change to `objects` of them is dealt with."""
        everything = objects == self._amount.objects
        number = self._load.common if everything else self._load.number
        report = await operator.saw(number=number, objects=objects)
        if not self._candidate.writes:
            return report
        async with asyncio.timeout(child.WAIT_SECONDS):
            await self._answers.complete(number=number, objects=objects)
        late = await operator.report()
        return child.Report(
            late.cpu_seconds,
            late.runs,
            late.peak_rss_kib,
            report.delay_p50_ms,
            report.delay_p95_ms,
        )

    def _tell(self) -> None:
        progress.report(f"{self._candidate.name}, {self._candidate.case}, {self._amount.objects}")

    def _note(self, name: str, value: float) -> None:
        progress.report(f"  {name} {value:.4g}")
        self.values[name] = value
