"""Whether a cloud is whole, and which of its processes run."""

import re

from tests.support.cloud import NAMESPACE
from tests.support.lab import Lab


def found(lab: Lab, node: str, pattern: str) -> set[int]:
    """Processes of a lab that look like this."""
    wanted = re.compile(pattern)
    return {pid for pid, line in lab.processes(node).items() if wanted.search(line)}


def guest(lab: Lab, node: str) -> set[int]:
    return found(lab, node, r"qemu-system.*guest=instance-")


def is_whole(lab: Lab) -> bool:
    """Whether the control plane is Ready, and every pod of it."""
    planes = lab.get("controlplanes", "-n", NAMESPACE).get("items", [])
    pods = [
        pod
        for pod in lab.get("pods", "-n", NAMESPACE).get("items", [])
        if pod["status"].get("phase") != "Succeeded"
    ]
    ready = [
        each["status"] == "True"
        for obj in (*planes, *pods)
        for each in obj["status"].get("conditions", ())
        if each["type"] == "Ready"
    ]
    return len(ready) == len(planes) + len(pods) > 1 and all(ready)
