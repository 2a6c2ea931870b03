"""Whether a cloud is completely Ready, and the PIDs of its processes."""

import re

from tests.support.cloud import NAMESPACE
from tests.support.lab import Lab


def found(lab: Lab, node: str, pattern: str) -> set[int]:
    """PIDs of a lab whose command line matches."""
    wanted = re.compile(pattern)
    return {pid for pid, line in lab.processes(node).items() if wanted.search(line)}


def guest(lab: Lab, node: str) -> set[int]:
    return found(lab, node, r"qemu-system.*guest=instance-")


def is_whole(lab: Lab) -> bool:
    """Whether the ControlPlane and all its pods that are no Job's are Ready."""
    planes = lab.get("controlplanes", "-n", NAMESPACE).get("items", [])
    pods = [
        pod
        for pod in lab.get("pods", "-n", NAMESPACE).get("items", [])
        if not any(each["kind"] == "Job" for each in pod["metadata"].get("ownerReferences", ()))
    ]
    ready = [
        each["status"] == "True"
        for obj in (*planes, *pods)
        for each in obj["status"].get("conditions", ())
        if each["type"] == "Ready"
    ]
    return len(ready) == len(planes) + len(pods) > 1 and all(ready)
