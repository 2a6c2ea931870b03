"""The measured operator on this runtime, set up as `cobalt run` sets up a process.

`read` looks at the spec, `write` also reports in the status which round it saw.
"""

import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path

import uvloop

from cobaltcore.runtime import kubeconfig, log, status
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller, Source, unless_own_status_update
from cobaltcore.runtime.http_transport import HttpTransport
from cobaltcore.runtime.manager import Manager
from cobaltcore.runtime.meta import Key, WatchScope
from tests.bench.operators.meter import Meter
from tests.bench.widget import WIDGET


class WidgetOperator:
    """Reconciles widgets of one namespace."""

    def __init__(self, cluster: Cluster, meter: Meter, *, namespace: str, writes: bool) -> None:
        self._cluster = cluster
        self._meter = meter
        self._writes = writes
        sources = [Source(WIDGET, unless_own_status_update, WatchScope(namespace))]
        self.controller = Controller("widget", self.reconcile, sources)

    async def reconcile(self, key: Key) -> timedelta | None:
        """Look at one widget."""
        live = self._cluster.informer(WIDGET).get(key)
        if live is None:
            return None
        spec = live["spec"]
        self._meter.saw(key.name, spec)
        if self._writes:
            observed = {"observed": spec["round"]}
            await status.write(self._cluster, WIDGET, live, observed, manager="bench")
        return None


async def main(case: str, *, config: Path, namespace: str) -> None:
    """Run until stopped."""
    meter = Meter()
    reporting = asyncio.ensure_future(meter.serve())
    client = Client(HttpTransport(kubeconfig.load(config, environ={}), agent="bench-ours"))
    cluster = Cluster(client)
    operator = WidgetOperator(cluster, meter, namespace=namespace, writes=case == "write")
    manager = Manager({"local": cluster}, [operator.controller])
    manager.stop_on_signals()
    try:
        await manager.run()
    finally:
        reporting.cancel()
        await client.close()


if __name__ == "__main__":
    log.configure(level="WARNING")
    uvloop.run(main(sys.argv[1], config=Path(os.environ["KUBECONFIG"]), namespace=sys.argv[2]))
