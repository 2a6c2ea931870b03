"""A leader that is stopped and continued does not write into the term of its successor."""

import asyncio
import signal
import subprocess
import sys

from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key
from tests.support import busy_leader
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually, read, transport


async def test_stopped_process_leaves_writing_to_its_successor(
    control_plane: ControlPlaneHarness, client: Client, namespace: str
) -> None:
    async def is_leader(identity: str) -> bool:
        found = await read(client, busy_leader.CONFIG_MAP, Key(namespace, busy_leader.NAME))
        return found is not None and found["data"]["leader"] == identity

    arguments = [str(control_plane.kubeconfig()), namespace, "stopped"]
    command = [sys.executable, "-m", "tests.support.busy_leader", *arguments]
    with subprocess.Popen(command) as process:  # noqa: ASYNC220 does not wait
        try:
            await eventually(lambda: is_leader("stopped"), "the process leads")
            successor = Client(transport(control_plane, "successor"))
            leading = asyncio.ensure_future(busy_leader.lead(successor, namespace, "successor"))
            process.send_signal(signal.SIGSTOP)
            await eventually(lambda: is_leader("successor"), "the successor leads")
            mark = control_plane.mark()
            process.send_signal(signal.SIGCONT)
            await asyncio.sleep(2)
            assert await is_leader("successor")
            writes = control_plane.audit(
                since=mark, agent="stopped", verbs=["patch"], namespace=namespace
            )
            assert writes == []
            assert control_plane.audit(since=mark, agent="stopped", namespace=namespace)
            leading.cancel()
            await asyncio.wait({leading})
            await successor.close()
        finally:
            process.kill()
