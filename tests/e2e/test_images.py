"""Nodes pull images from the host, under the names of any registry."""

import io
import json
import tarfile

from cobaltlab import containerd, ociarchive
from tests.support import busybox, workloads
from tests.support.lab import Lab, eventually

REFERENCE = "registry.example.org/team/busybox:1"


def publish(lab: Lab, reference: str) -> None:
    """Add the busybox image to the OCI layout that nodes pull from, under `reference`."""
    archive = ociarchive.archive(busybox.image())
    with tarfile.open(fileobj=io.BytesIO(archive.content)) as tar:
        for member in tar:
            path, content = lab.images / member.name, tar.extractfile(member)
            assert content
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.read())
    index = lab.images / "index.json"
    listing = json.loads(index.read_text())
    listing["manifests"][0]["annotations"]["io.containerd.image.name"] = reference
    index.write_text(json.dumps(listing))


def test_a_node_pulls_an_image_when_a_pod_needs_it(lab: Lab, namespace: str) -> None:
    publish(lab, REFERENCE)
    pod = workloads.pod("puller", REFERENCE, node="hypervisor-1")
    pod["spec"]["containers"][0]["imagePullPolicy"] = "IfNotPresent"
    lab.create(namespace, pod)
    lab.wait_for_pod(namespace, "puller")
    assert REFERENCE in containerd.image_references(lab.node("hypervisor-1"))
    assert REFERENCE not in containerd.image_references(lab.node("hypervisor-2"))


def test_a_missing_image_is_named_in_the_status_of_the_pod(lab: Lab, namespace: str) -> None:
    missing = "registry.example.org/team/nothing:1"
    pod = workloads.pod("puller", missing)
    pod["spec"]["containers"][0]["imagePullPolicy"] = "IfNotPresent"
    lab.create(namespace, pod)

    def message() -> str:
        statuses = lab.get("pod", "-n", namespace, "puller")["status"].get("containerStatuses", [])
        return "".join(each["state"].get("waiting", {}).get("message", "") for each in statuses)

    assert missing in eventually(message, "the pull failed")
    assert "not found" in message()
