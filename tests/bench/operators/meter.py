"""The instrument inside each measured operator; the standard library only, the same for all.

A line on standard input asks for a report as soon as a number of objects was seen in a round; the
report is written to standard output as one line of JSON.
"""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Arrivals:
    """How long changes take from their writing to their being seen for the first time."""

    def __init__(self) -> None:
        self.rounds: dict[str, int] = {}
        self._delays_ns: list[int] = []

    def saw(self, name: str, spec: Mapping[str, Any]) -> None:
        """Look at an object."""
        number = spec["round"]
        if number > self.rounds.get(name, 0):
            self.rounds[name] = number
            self._delays_ns.append(time.time_ns() - spec["sentNs"])

    def delays_ms(self) -> tuple[float, float]:
        """The 50th and the 95th percentile since the last time this was asked."""
        ordered, self._delays_ns = sorted(self._delays_ns), []
        return _percentile(ordered, 50) / 1e6, _percentile(ordered, 95) / 1e6


class Meter:
    """Counts what a handler sees."""

    def __init__(self) -> None:
        self._runs = 0
        self._arrivals = Arrivals()
        self._wanted = 0
        self._missing = 0
        self._complete = asyncio.Event()

    def saw(self, name: str, spec: Mapping[str, Any]) -> None:
        """Count a call of a handler."""
        self._runs += 1
        before = self._arrivals.rounds.get(name, 0)
        self._arrivals.saw(name, spec)
        if before < self._wanted <= spec["round"]:
            self._missing -= 1
            if not self._missing:
                self._complete.set()

    async def serve(self) -> None:
        """Answer requests for reports until standard input is closed."""
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            wanted = json.loads(line)
            await self._until(number=wanted["round"], objects=wanted["objects"])
            print(json.dumps(self._report()), flush=True)

    async def _until(self, *, number: int, objects: int) -> None:
        self._wanted = number
        self._missing = objects - sum(each >= number for each in self._arrivals.rounds.values())
        if self._missing > 0:
            self._complete.clear()
            await self._complete.wait()

    def _report(self) -> dict[str, Any]:
        used = resource.getrusage(resource.RUSAGE_SELF)
        p50, p95 = self._arrivals.delays_ms()
        return {
            "cpu_seconds": used.ru_utime + used.ru_stime,
            "runs": self._runs,
            "peak_rss_kib": _peak_rss_kib(),
            "delay_p50_ms": p50,
            "delay_p95_ms": p95,
        }


def _percentile(ordered: list[int], share: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)] if ordered else 0


def _peak_rss_kib() -> int:
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1])
