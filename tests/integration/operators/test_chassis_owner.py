"""An OVNChassis written by hand names its Node without a uid; `cobalt run` fills it in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cobaltcore.api.ovn import CHASSIS
from cobaltcore.runtime import webhook_objects
from tests.support import seeds, webhooks
from tests.support.control_plane import ControlPlaneHarness, KubectlError

NODE = "hypervisor-node-01"
WRITTEN_BY_HAND = """
apiVersion: ovn.c5c3.io/v1alpha1
kind: OVNChassis
metadata:
  name: hypervisor-node-01
  ownerReferences: [{apiVersion: v1, kind: Node, name: hypervisor-node-01}]
spec:
  hostname: hypervisor-node-01
  systemId: 3a41
  encapsulation: {type: geneve, ip: 10.0.1.100}
"""


@pytest.fixture
def plane(installed_crds: ControlPlaneHarness, tmp_path: Path) -> Iterator[ControlPlaneHarness]:
    """The API server and `cobalt run ovn`, which answers its webhook."""
    with webhooks.served(installed_crds, "ovn", tmp_path) as target:
        configuration = webhook_objects.mutating("chassis-owner", [CHASSIS], target)
        installed_crds.kubectl("apply", "-f", "-", input=yaml.safe_dump(configuration))
        yield installed_crds
        installed_crds.kubectl("delete", "mutatingwebhookconfiguration", "chassis-owner")


def test_the_uid_of_the_node_is_filled_in(plane: ControlPlaneHarness, namespace: str) -> None:
    node = yaml.safe_dump({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
    plane.kubectl("apply", "-f", "-", input=node)
    uid = plane.kubectl("get", "node", NODE, "-o", "jsonpath={.metadata.uid}")
    documents = [yaml.safe_load(WRITTEN_BY_HAND), *_seeds()]
    for number, document in enumerate(documents):
        space = plane.create_namespace(f"chassis-{number}")
        document["metadata"]["namespace"] = space
        # The Node may be a moment late in the operator's cache.
        plane.wait_until(lambda: _created(plane, document), what="admitting the chassis")  # noqa: B023
        path = "jsonpath={.metadata.ownerReferences[0].uid}"
        assert plane.kubectl("get", "ovnchassis", NODE, "-n", space, "-o", path) == uid


def test_an_unknown_node_is_refused_by_the_api_server(
    plane: ControlPlaneHarness, namespace: str
) -> None:
    document = yaml.safe_load(WRITTEN_BY_HAND)
    document["metadata"] |= {"namespace": namespace}
    document["metadata"]["ownerReferences"][0]["name"] = "no-such-node"
    with pytest.raises(KubectlError, match=r"ownerReferences\.uid"):
        plane.kubectl("create", "-f", "-", input=yaml.safe_dump(document))


def _created(plane: ControlPlaneHarness, document: dict[str, object]) -> bool:
    try:
        plane.kubectl("create", "-f", "-", input=yaml.safe_dump(document))
    except KubectlError as error:
        if "ownerReferences.uid" not in str(error):
            raise
        return False
    return True


def _seeds() -> list[dict[str, dict[str, object]]]:
    return [each for each in seeds.documents() if each["kind"] == "OVNChassis"]
