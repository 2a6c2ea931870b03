"""A process that writes all the time while it leads: kubeconfig, namespace, identity."""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from cobaltcore.runtime import errors, kubeconfig
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.http_transport import HttpTransport
from cobaltcore.runtime.lease import Election, Timing
from cobaltcore.runtime.meta import Key, Kind

CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")
NAME = "busy"
TIMING = Timing(
    duration=timedelta(seconds=3),
    renew_deadline=timedelta(seconds=2),
    retry=timedelta(seconds=0.3),
)


async def lead(client: Client, namespace: str, identity: str) -> None:
    """Write one's name into a ConfigMap as long as one leads, term after term."""

    async def work() -> None:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": NAME, "namespace": namespace},
            "data": {"leader": identity},
        }
        while True:
            try:
                await client.apply(CONFIG_MAP, body, manager="busy")
            except errors.LeaseExpired:
                await asyncio.Event().wait()
            # A process that is stopped between the check and the request is not the usual case.
            await asyncio.sleep(0.05)

    election = Election(client, Key(namespace, NAME), identity=identity, timing=TIMING)
    while True:
        await election.lead(work)


if __name__ == "__main__":
    path, namespace, identity = sys.argv[1:]
    transport = HttpTransport(kubeconfig.load(Path(path), environ={}), agent=identity)
    asyncio.run(lead(Client(transport), namespace, identity))
