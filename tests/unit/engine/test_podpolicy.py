"""Which pods may have rights over their nodes."""

from typing import Any

import pytest

from cobaltcore.api.foreign.kubernetes import DAEMON_SET
from cobaltcore.engine.podpolicy import PodPolicy, has_node_rights
from cobaltcore.engine.verdict import InputInvalid
from cobaltcore.runtime.meta import Desired
from tests.support import golden, planning

ALLOWED = {"node-role.kubernetes.io/hypervisor": ""}


def a_daemon_set(**pod: Any) -> Desired:
    container = {"image": "ghcr.io/c5c3/nova:1", "securityContext": {"privileged": True}}
    spec = {"containers": [container], "nodeSelector": ALLOWED, **pod}
    meta = {"name": "agent", "namespace": "openstack"}
    return Desired(DAEMON_SET, {"metadata": meta, "spec": {"template": {"spec": spec}}})


def refused(wanted: Desired, policy: PodPolicy | None = None) -> str:
    with pytest.raises(InputInvalid) as found:
        (policy or PodPolicy()).check([wanted])
    return str(found.value)


@pytest.mark.parametrize(
    "pod",
    [
        {"containers": [{"image": "evil.example/c5c3/nova:1"}], "hostPID": True},
        {"containers": [{"image": "ghcr.io/c5c3-evil/nova:1"}], "hostNetwork": True},
        {"initContainers": [{"image": "ghcr.io/other/nova:1"}]},
    ],
)
def test_image_of_another_registry_gets_no_rights_over_nodes(pod: dict[str, Any]) -> None:
    assert "--allowed-registries" in refused(a_daemon_set(**pod))


@pytest.mark.parametrize(
    "selector", [{}, {"kubernetes.io/hostname": "master"}, {"role": "hypervisor"}]
)
def test_pod_with_rights_runs_on_hypervisors_only(selector: dict[str, str]) -> None:
    assert "--allowed-node-labels" in refused(a_daemon_set(nodeSelector=selector))


def test_settings_permit_more_and_less() -> None:
    policy = PodPolicy(("mirror.example/openstack",), ("pool=compute",))
    policy.check(
        [
            a_daemon_set(
                containers=[{"image": "mirror.example/openstack/nova@sha256:0"}],
                nodeSelector={"pool": "compute", "zone": "a"},
            )
        ]
    )
    assert "mirror.example" in refused(a_daemon_set(), policy)


def test_pods_without_rights_over_nodes_are_free() -> None:
    free = {"containers": [{"image": "other.example/a"}], "nodeSelector": {}}
    PodPolicy().check([a_daemon_set(**free)])


@pytest.mark.parametrize("kind", ["Nova", "Neutron", "OVNCluster"])
def test_examples_run_with_default_settings(kind: str) -> None:
    found = golden.of(planning.an_object(kind))
    PodPolicy().check(found.desired.values())
    pods = [each.body["spec"]["template"]["spec"] for each in found.desired.values()
            if each.kind == DAEMON_SET]  # fmt: skip
    assert pods
    assert all(map(has_node_rights, pods))


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("Nova", "image", {"repository": "evil.example/nova", "tag": "1"}),
        ("Nova", "compute", {"nodeSelector": {"node-role.kubernetes.io/control-plane": ""}}),
        ("OVNCluster", "ovsImage", {"repository": "evil.example/ovs", "tag": "1"}),
        ("OVNCluster", "ovs", {"nodeSelector": {"kubernetes.io/os": "linux"}}),
        ("Neutron", "metadataAgent", {"nodeSelector": {"kubernetes.io/os": "linux"}}),
    ],
)
def test_spec_that_asks_for_other_nodes_or_images_is_refused(
    kind: str, field: str, value: Any
) -> None:
    found = golden.of(planning.an_object(kind, **{field: value}))
    with pytest.raises(InputInvalid):
        PodPolicy().check(found.desired.values())
