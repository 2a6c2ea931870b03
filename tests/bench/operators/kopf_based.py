"""The measured operator on Kopf, doing the same work per object, in three set-ups.

All run on uvloop with coroutines instead of threads, without peering, and log warnings only.

- Plain: Kopf's own settings, with its state in annotations. It posts what it logs as events, so that
  none are posted here.
- Quiet: no events and no scanning for new kinds; the state stays in annotations.
- Lenient: as quiet, with the state in the status, so that no request is needed beyond the answer.
  Only a kind that keeps unknown fields in its status can be handled so: on any other, Kopf's state
  is dropped by the API server and every event looks like a new object.
"""

import asyncio
import sys
from typing import Any

import kopf
import uvloop

from tests.bench.operators.meter import Meter
from tests.bench.widget import WIDGET

_KIND = (WIDGET.group, WIDGET.version, WIDGET.plural)


def _settings(setup: str) -> Any:
    settings = kopf.OperatorSettings()
    if setup != "plain":
        settings.posting.enabled = False
        settings.scanning.disabled = True
    if setup == "lenient":
        persistence = settings.persistence
        persistence.diffbase_storage = kopf.StatusDiffBaseStorage(field="status.kopf.last")
        persistence.progress_storage = kopf.StatusProgressStorage(field="status.kopf.steps")
    return settings


def _register(meter: Meter, work: str) -> None:
    async def look(name: str, spec: Any, **_: Any) -> None:
        meter.saw(name, spec)

    async def answer(name: str, spec: Any, status: Any, patch: Any, **_: Any) -> None:
        meter.saw(name, spec)
        if status.get("observed") != spec["round"]:
            patch.status["observed"] = spec["round"]

    kopf.on.login()(kopf.login_with_kubeconfig)
    handler = answer if work == "write" else look
    for when in (kopf.on.create, kopf.on.update, kopf.on.resume):
        when(*_KIND, id="answer")(handler)


async def main(case: str, *, namespace: str) -> None:
    """Run until stopped; Kopf itself reads KUBECONFIG and handles signals."""
    setup, work = case.split("-")
    meter = Meter()
    reporting = asyncio.ensure_future(meter.serve())
    _register(meter, work)
    try:
        await kopf.operator(settings=_settings(setup), namespaces=[namespace], standalone=True)
    finally:
        reporting.cancel()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], namespace=sys.argv[2]))
