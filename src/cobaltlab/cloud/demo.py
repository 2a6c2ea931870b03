"""The step `demo` of `cobalt up`: boots a server and checks its console and its floating address."""

import asyncio
import json
from datetime import timedelta
from importlib import resources
from typing import Any

from cobaltcore.api.foreign.kubernetes import POD
from cobaltcore.cli import phases
from cobaltcore.engine.desired import names
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object, WatchScope, key_of
from cobaltlab import agents, errors, record, statedir
from cobaltlab.cloud import deploy, objects
from cobaltlab.cloud.external import ExternalHost
from cobaltlab.platform import apply

STEP_TIMEOUT = timedelta(minutes=12)


def run(
    state_dir: statedir.StateDir, instance: record.Instance, *, progress: phases.Phases
) -> str:
    """Boot the server `demo` unless it exists; return a summary."""
    return asyncio.run(_run(state_dir, instance, progress))


async def _run(
    state_dir: statedir.StateDir, instance: record.Instance, progress: phases.Phases
) -> str:
    async with apply.connected(state_dir) as client:
        with progress.phase("demo: image and network"):
            await asyncio.gather(_execute(client, "images"), _execute(client, "network"))
        with progress.phase("demo: server") as phase:
            server = await _execute(client, "server")
            phase.result(f"{server['status']} {server['address']} on {server['host']}")
        if server["is_new"]:
            # A server that has migrated since its boot has an empty console log.
            with progress.phase("demo: console output") as phase:
                lines = (await _execute(client, "console"))["lines"]
                phase.result(lines[-2].removeprefix("guest: "))
    with progress.phase("demo: floating address") as phase, ExternalHost(instance.index) as host:
        await deploy.wait(
            lambda: _is_reachable(host, server["floating"]),
            STEP_TIMEOUT,
            lambda: f'server "demo" did not answer at {server["floating"]}',
        )
        phase.result(f"{server['floating']} answers to ping and on port 22")
    return f"server demo {server['status']} {server['address']}"


async def _is_reachable(host: ExternalHost, address: str) -> bool:
    def answers() -> bool:
        return host.pings(address) and host.banner(address).startswith("SSH-2.0")

    return await asyncio.to_thread(answers)


async def _execute(client: Client, step: str) -> dict[str, Any]:
    """Run a step of `agents/demo.py` in the toolbox pod; its last line is the result.

    The program comes over stdin, so that `cobalt up --dev` needs no image of the lab.
    """
    source = resources.files(agents).joinpath("demo.py").read_bytes()
    done = await client.execute(
        await _toolbox(client),
        ("python3", "-", step),
        container="client",
        stdin=source,
        within=STEP_TIMEOUT,
    )
    if done.code:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise errors.LabError(
            f'step "{step}" of the demo failed: {lines[-1] if lines else f"exit code {done.code}"}',
            hint="inspect the server: cobalt openstack server show demo; `cobalt up` resumes",
        )
    result: dict[str, Any] = json.loads(done.stdout.decode().strip().splitlines()[-1])
    return result


async def _toolbox(client: Client) -> Key:
    selector = ",".join(
        f"{k}={v}" for k, v in names.selector("toolbox", objects.TOOLBOX.name).items()
    )
    running: list[Object] = [
        pod
        async for page, _ in client.list_pages(POD, WatchScope(objects.NAMESPACE, selector))
        for pod in page
        if (pod.get("status") or {}).get("phase") == "Running"
        and not pod["metadata"].get("deletionTimestamp")
    ]
    if not running:
        raise errors.LabError(
            f'Deployment "{objects.TOOLBOX}" has no running pod',
            hint="start it again: cobalt up",
        )
    return key_of(running[0])
