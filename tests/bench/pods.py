"""What pods of a running lab use, next to what they ask for: `python -m tests.bench.pods LAB SECONDS`.

The figures are those of the kubelets: processor time during the window, memory that cannot be reclaimed.
"""

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cobaltlab import statedir
from tests.support.lab import Lab

NANOSECONDS_PER_MILLISECOND = 1_000_000
MEBIBYTE = 1 << 20
Container = tuple[str, str, str]
"""Namespace, pod, container."""


@dataclass(frozen=True)
class Usage:
    """Of one container."""

    cpu_nanoseconds: int
    memory_bytes: int


def used(lab: Lab) -> dict[Container, Usage]:
    """What containers have used so far."""
    nodes = [each["metadata"]["name"] for each in lab.get("nodes")["items"]]
    found = {}
    for node in nodes:
        summary = json.loads(
            lab.kubectl("get", "--raw", f"/api/v1/nodes/{node}/proxy/stats/summary")
        )
        for pod in summary["pods"]:
            for each in pod.get("containers", ()):
                name = (pod["podRef"]["namespace"], pod["podRef"]["name"], each["name"])
                cpu = each.get("cpu", {}).get("usageCoreNanoSeconds", 0)
                found[name] = Usage(cpu, each.get("memory", {}).get("workingSetBytes", 0))
    return found


def asked(lab: Lab) -> Iterator[tuple[Container, str, Mapping[str, str]]]:
    """Containers with the component that they belong to, and their requests."""
    for pod in lab.get("pods", "-A")["items"]:
        meta, labels = pod["metadata"], pod["metadata"].get("labels", {})
        owner = labels.get("app.kubernetes.io/name", meta["name"])
        component = labels.get("app.kubernetes.io/component", "")
        for each in pod["spec"]["containers"]:
            name = (meta["namespace"], meta["name"], each["name"])
            requests = each.get("resources", {}).get("requests", {})
            yield name, f"{owner} {component} {each['name']}", requests


def rows(lab: Lab, seconds: float) -> Iterator[tuple[str, float, float, str, str]]:
    """Name, milliseconds of processor time per second, MiB, and the two requests."""
    before, began = used(lab), time.monotonic()
    time.sleep(seconds)  # noqa: TID251 a window to measure
    after, elapsed = used(lab), time.monotonic() - began
    for container, name, requests in asked(lab):
        if container in before and container in after:
            nanoseconds = after[container].cpu_nanoseconds - before[container].cpu_nanoseconds
            cpu = nanoseconds / NANOSECONDS_PER_MILLISECOND / elapsed
            memory = after[container].memory_bytes / MEBIBYTE
            yield name, cpu, memory, requests.get("cpu", "-"), requests.get("memory", "-")


def main(name: str, seconds: float) -> None:
    lab = Lab(statedir.root(os.environ), name)
    total = 0.0
    for container, cpu, memory, asked_cpu, asked_memory in sorted(rows(lab, seconds)):
        total += cpu
        print(
            f"{container:60} {cpu:7.1f}m {memory:7.0f}Mi   asks {asked_cpu:>6} {asked_memory:>6}"
        )
    print(f"{total:.0f}m in all")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
