"""The measured operator on Kopf, doing the same work per object with the cheapest set-up it has.

No peering, no posted events, no scanning for new kinds, logs of warnings only, coroutines instead
of threads, uvloop. `read` and `write` use on.event, which keeps no state of its own; `seen` and
`changes` do the same work in on.create, on.update and on.resume, with their state in the status, so
that they need no request beyond the one that writes the answer.
"""

import asyncio
import sys
from typing import Any

import kopf
import uvloop

from tests.bench.operators.meter import Meter
from tests.bench.widget import WIDGET

_KIND = (WIDGET.group, WIDGET.version, WIDGET.plural)


def _settings() -> Any:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.persistence.diffbase_storage = kopf.StatusDiffBaseStorage(field="status.kopf.last")
    settings.persistence.progress_storage = kopf.StatusProgressStorage(field="status.kopf.steps")
    return settings


def _register(meter: Meter, case: str) -> None:
    async def look(name: str, spec: Any, **_: Any) -> None:
        meter.saw(name, spec)

    async def answer(name: str, spec: Any, status: Any, patch: Any, **_: Any) -> None:
        meter.saw(name, spec)
        if status.get("observed") != spec["round"]:
            patch.status["observed"] = spec["round"]

    kopf.on.login()(kopf.login_with_kubeconfig)
    if case in ("seen", "changes"):
        for when in (kopf.on.create, kopf.on.update, kopf.on.resume):
            when(*_KIND, id="answer")(look if case == "seen" else answer)
    else:
        kopf.on.event(*_KIND)(answer if case == "write" else look)


async def main(case: str, *, namespace: str) -> None:
    """Run until told to stop; Kopf itself looks for KUBECONFIG and listens to signals."""
    meter = Meter()
    reporting = asyncio.ensure_future(meter.serve())
    _register(meter, case)
    try:
        await kopf.operator(settings=_settings(), namespaces=[namespace], standalone=True)
    finally:
        reporting.cancel()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], namespace=sys.argv[2]))
