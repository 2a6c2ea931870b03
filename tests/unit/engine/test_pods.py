"""The pod builder: security, volumes, environment and placement of rendered pods."""

from typing import Any, Literal

import pytest

from cobaltcore.api.blocks import Image
from cobaltcore.api.pods import PodSettings, Resources, Toleration
from cobaltcore.engine.desired import containers, placement, probes
from cobaltcore.engine.desired.containers import Container, PodField, SecurityContext
from cobaltcore.engine.desired.placement import LabelRequirement, Placement
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.engine.desired.volumes import (
    ClaimTemplate,
    ConfigMap,
    HostPath,
    Secret,
    Volume,
)

IMAGE = Image(repository="ghcr.io/c5c3/nova", tag="32.1.0")
DATA = Volume("data", "/data", ClaimTemplate())


def a_container(name: str = "nova", **fields: Any) -> Container:
    return Container(name, IMAGE, ("nova-api",), **fields)


def rendered(*of: Container, **fields: Any) -> Any:
    """The spec of a pod."""
    return Pod(containers=of, labels={"app": "nova"}, **fields).template()["spec"]


def test_a_pod_is_unprivileged_and_writes_to_scratch_directories_only() -> None:
    spec = rendered(a_container())
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"]
    assert not spec["automountServiceAccountToken"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert [each["mountPath"] for each in container["volumeMounts"]] == [
        "/tmp",
        containers.STATE_DIR,
    ]


def test_one_root_container_makes_the_pod_run_as_root() -> None:
    root = SecurityContext("root", ("NET_ADMIN",), writable_root=True)
    spec = rendered(a_container(), a_container("agent", security=root))
    assert (spec["securityContext"]["runAsUser"], spec["securityContext"]["runAsGroup"]) == (0, 0)
    assert spec["containers"][1]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN"]},
    }
    assert spec["containers"][1]["volumeMounts"] == []


def test_a_privileged_container_gets_all_capabilities() -> None:
    spec = rendered(a_container(security=SecurityContext("privileged")))
    assert spec["containers"][0]["securityContext"] == {
        "privileged": True,
        "readOnlyRootFilesystem": True,
    }


def test_volumes_of_all_containers_appear_once() -> None:
    config = Volume("config", "/etc/nova", ConfigMap("nova-config"))
    spec = rendered(
        a_container(volumes=[config, DATA]),
        a_container("sidecar", volumes=[config]),
        init_containers=[a_container("init", volumes=[Volume("out", "/out")])],
    )
    named = [each["name"] for each in spec["volumes"]]
    assert sorted(named) == ["config", "out", *(each.name for each in containers.SCRATCH)]
    assert {"name": "data", "mountPath": "/data"} in spec["containers"][0]["volumeMounts"]


def test_volumes_name_their_source_and_how_it_is_mounted() -> None:
    secret = Volume("keys", "/keys", Secret("ceph", {"userKey": "key"}, mode=0o400))
    assert secret.volume() == {
        "name": "keys",
        "secret": {
            "secretName": "ceph",
            "defaultMode": 0o400,
            "items": [{"key": "userKey", "path": "key"}],
        },
    }
    assert secret.mount()["readOnly"]
    shared = Volume("run", "/run/x", HostPath("/run/y"), propagation="Bidirectional")
    assert shared.volume() == {
        "name": "run",
        "hostPath": {"path": "/run/y", "type": "DirectoryOrCreate"},
    }
    assert shared.mount()["mountPropagation"] == "Bidirectional"


def test_variables_are_plain_or_come_from_the_pod() -> None:
    body = a_container(environment={"C": PodField("spec.nodeName"), "Z": "1"}).body()
    assert body["env"] == [
        {"name": "Z", "value": "1"},
        {
            "name": "C",
            "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}},
        },
    ]


def test_names_of_services_resolve_in_the_host_network() -> None:
    spec = rendered(a_container(), host_network=True)
    assert spec["hostNetwork"]
    assert spec["dnsPolicy"] == "ClusterFirstWithHostNet"


def test_each_field_of_the_placement_comes_from_the_first_layer_that_sets_it() -> None:
    own = PodSettings(node_selector={"rack": "1"})
    service = PodSettings(node_selector={"rack": "2"}, priority_class_name="high")
    found = placement.of(own, None, service).body()
    assert found == {"nodeSelector": {"rack": "1"}, "priorityClassName": "high"}


def test_node_daemons_tolerate_every_taint_unless_configured() -> None:
    assert placement.on_hypervisors(None).body() == {
        "nodeSelector": {"node-role.kubernetes.io/hypervisor": ""},
        "tolerations": [{"operator": "Exists"}],
        "priorityClassName": "system-node-critical",
    }
    settings = PodSettings(tolerations=[Toleration(key="gpu", operator="Exists")])
    found = placement.on_hypervisors(settings).body()
    assert found["tolerations"] == [{"key": "gpu", "operator": "Exists"}]


def test_affinity_requires_or_prefers_labels_of_nodes() -> None:
    found = Placement(
        either=[
            LabelRequirement("cell", "DoesNotExist"),
            LabelRequirement("cell", "In", ["cell1"]),
        ],
        preferred=[LabelRequirement("storage", "Exists")],
    ).body()["affinity"]["nodeAffinity"]
    terms = found["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [each["matchExpressions"] for each in terms] == [
        [{"key": "cell", "operator": "DoesNotExist"}],
        [{"key": "cell", "operator": "In", "values": ["cell1"]}],
    ]
    (preferred,) = found["preferredDuringSchedulingIgnoredDuringExecution"]
    assert preferred["preference"]["matchExpressions"] == [
        {"key": "storage", "operator": "Exists"}
    ]


def test_a_command_probes_often_at_the_start_and_seldom_later() -> None:
    found = probes.by_command("true", startup_seconds=60).body()
    assert found["startupProbe"]["periodSeconds"] == 1
    assert found["startupProbe"]["failureThreshold"] == 60
    assert found["readinessProbe"]["periodSeconds"] == 30
    assert "livenessProbe" not in found


def test_configured_resources_replace_the_tested_size() -> None:
    tested, configured = Resources(requests={"cpu": "1"}), Resources(limits={"memory": "1Gi"})
    assert containers.resources(tested, None, PodSettings()) == tested
    assert containers.resources(tested, PodSettings(resources=configured)) == configured


@pytest.mark.parametrize("level", ["unprivileged", "root"])
def test_system_calls_are_limited_for_root_too(level: Literal["unprivileged", "root"]) -> None:
    spec = rendered(a_container(security=SecurityContext(level)))
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
