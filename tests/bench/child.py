"""A measured operator as its own process: asked over its pipes, ended by its process id."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

WAIT_SECONDS = 600
STOP_SECONDS = 30


class OperatorFailed(Exception):
    """A measured operator ended by itself or did not get done; the message holds its log."""


class Report(msgspec.Struct, frozen=True):
    """Figures that an operator reports of itself."""

    cpu_seconds: float
    runs: int
    peak_rss_kib: int
    delay_p50_ms: float
    delay_p95_ms: float


@dataclass(slots=True)
class Operator:
    """A running operator."""

    started: float
    _process: asyncio.subprocess.Process
    _log: Path

    async def saw(self, *, number: int, objects: int) -> Report:
        """Wait until `objects` of them were seen in round `number` or later."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise OperatorFailed("the operator has no pipes")
        stdin.write(json.dumps({"round": number, "objects": objects}).encode() + b"\n")
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                line = await stdout.readline()
        except TimeoutError:
            raise self._failed(f"did not see {objects} objects within {WAIT_SECONDS} s") from None
        if not line:
            raise self._failed("ended by itself")
        return msgspec.json.decode(line, type=Report)

    async def report(self) -> Report:
        """The current figures."""
        return await self.saw(number=0, objects=0)

    async def stop(self) -> None:
        """End the process in good order, or at least end it."""
        if self._process.returncode is None:
            self._process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    def _failed(self, what: str) -> OperatorFailed:
        tail = "\n".join(self._log.read_text().splitlines()[-20:])
        return OperatorFailed(f"the operator {what}:\n{tail}")


@asynccontextmanager
async def running(
    module: str, case: str, *, namespace: str, kubeconfig: Path, log: Path
) -> AsyncIterator[Operator]:
    """Run one operator module on one namespace."""
    started = time.perf_counter()
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module, case, namespace),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        )
    operator = Operator(started, process, log)
    try:
        yield operator
    finally:
        await operator.stop()
