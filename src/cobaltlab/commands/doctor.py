"""`cobalt doctor`: this machine, and the cluster of its lab or another one."""

import argparse
import os
from collections.abc import Iterator
from dataclasses import replace

import uvloop

from cobaltcore.cli.commands import doctor
from cobaltcore.engine.diagnosis.checks import Check
from cobaltcore.runtime import kubeconfig
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.http_transport import HttpTransport
from cobaltimages import cache
from cobaltlab import preflight, statedir

HELP = "check this machine and its lab, or another cluster: each problem with its fix"


def configure(parser: argparse.ArgumentParser) -> None:
    doctor.configure(parser)
    parser.epilog = "With --kubeconfig or --context it checks that cluster only."


def run(arguments: argparse.Namespace) -> int:
    if arguments.kubeconfig or arguments.context:
        return doctor.run(arguments)
    state_dir = statedir.find(arguments.name or statedir.DEFAULT_NAME, os.environ)
    # Only root can read the state of a lab; the checks of the machine name it.
    nodes = state_dir.node_processes() if os.geteuid() == 0 else []
    running = any(node.pid() is not None for node in nodes)
    found = list(host_checks(state_dir, running=running))
    if running:
        found += uvloop.run(_cluster(state_dir))
    return doctor.show(found, arguments.output)


def host_checks(state_dir: statedir.StateDir, *, running: bool) -> Iterator[Check]:
    """Whether the machine can run a lab; one that runs has taken its memory already."""
    facts = preflight.gather([state_dir.directory, cache.cache_directory()])
    if running:
        facts = replace(facts, memory_bytes=max(facts.memory_bytes, preflight.MEMORY_BYTES))
    problems = preflight.problems(facts)
    for each in problems:
        yield Check(name="machine", ok=False, message=each.what, fix=each.fix)
    if not problems:
        yield Check(name="machine", ok=True, message="it can run a lab")
    text = f"lab {state_dir.name!r} {'is running' if running else 'is not running'}"
    yield Check(name="lab", ok=running, message=text, fix="cobalt up")


async def _cluster(state_dir: statedir.StateDir) -> list[Check]:
    connection = kubeconfig.load(state_dir.kubeconfig, environ={})
    client = Client(HttpTransport(connection, agent="cobalt-doctor"))
    try:
        return await doctor.cluster_checks(client)
    finally:
        await client.close()
