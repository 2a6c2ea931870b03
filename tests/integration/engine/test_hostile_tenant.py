"""A user with all rights in one namespace attacks another one, while all operators run.

Each attempt is refused, or ends in a condition of the user's own object; nothing of the other
namespace changes, and its Secret appears nowhere.
"""

import asyncio
import base64
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from cobaltcore.api import base, crd, keystone, ovn
from cobaltcore.api.foreign.gateway import REFERENCE_GRANT
from cobaltcore.engine import registry
from cobaltcore.engine.desired import names
from cobaltcore.runtime.meta import Kind, Object
from tests.integration.cli.test_admission_policies import install
from tests.support import objects, openstack, services, structural
from tests.support.control_plane import ControlPlaneHarness, KubectlError
from tests.support.operating import eventually
from tests.support.services import serving

TENANT, A, B = "tenant", "a", "b"
TREASURE = "do-not-show-this-to-b"
ENCODED = base64.b64encode(TREASURE.encode()).decode()
NODE = "hypervisor-1"
KINDS = ("Keystone", "OVNCluster", "Nova", "Neutron", "Glance")
OPERATORS = "c5c3-system"
FORBIDDEN = "forbidden"
WORKLOADS = (
    *("secrets", "configmaps", "services", "pods", "persistentvolumeclaims"),
    *("jobs.batch", "deployments.apps", "daemonsets.apps", "statefulsets.apps"),
)


@dataclass(frozen=True)
class Attempt:
    """A command of the tenant, and why it has to fail; without a reason it may be accepted."""

    name: str
    command: tuple[str, ...]
    refused: str = ""
    body: Object | None = None
    reason: str = ""
    """The reason of a condition of the object, if it is accepted."""


@pytest.fixture
def plane() -> Iterator[ControlPlaneHarness]:
    """Two namespaces: `a` with a cloud, and `b` where the tenant may do anything."""
    with ControlPlaneHarness() as found:
        found.install_crds([*crd.manifests(), *services.foreign_crds()])
        install(found)
        apply(found, *_cluster(), *_cloud())
        found.wait_until(
            lambda: "nodes" not in _fails(found, "get", "secrets", "-n", B), what="rights of b"
        )
        yield found


def _cluster() -> Iterator[Object]:
    for namespace in (A, B):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    labels = {"node-role.kubernetes.io/hypervisor": ""}
    addresses = [{"type": "InternalIP", "address": "192.0.2.10"}]
    yield {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": NODE, "labels": labels},
        "status": {"addresses": addresses},
    }
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    rbac = "rbac.authorization.k8s.io"
    meta = {"name": TENANT, "namespace": B}
    yield {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": meta, "rules": rules}
    yield {
        "apiVersion": f"{rbac}/v1",
        "kind": "RoleBinding",
        "metadata": meta,
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": TENANT},
        "subjects": [{"apiGroup": rbac, "kind": "User", "name": TENANT}],
    }


def _cloud() -> Iterator[Object]:
    """What `a` has, and the Secrets without which the services of `b` would wait."""
    yield _secret(A, "treasure", {"password": TREASURE})
    for kind in KINDS:
        for name in _secret_names(example(kind, A)["spec"]):
            yield _secret(A, name, {**openstack.CONTENT, "password": TREASURE})
            yield _secret(B, name, openstack.CONTENT)
    for kind in KINDS[:3]:
        yield example(kind, A)


def _secret(namespace: str, name: str, texts: Mapping[str, str]) -> Object:
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": dict(texts)}


def _secret_names(spec: Any) -> set[str]:
    """Secrets that a spec names."""
    if isinstance(spec, list):
        return {name for each in spec for name in _secret_names(each)}
    if not isinstance(spec, dict):
        return set()
    found = {name for each in spec.values() for name in _secret_names(each)}
    for field, value in spec.items():
        if field.lower().endswith("secretref"):
            found.add(value["name"])
        if field == "secretName":
            found.add(value)
    return found


def example(kind: str, namespace: str, changes: dict[str, Any] | None = None) -> Object:
    """Our example in a namespace, without what it depends on."""
    first = next(each for each in structural.examples() if each["kind"] == kind)
    moved = objects.moved(first, name=first["metadata"]["name"], namespace=namespace)
    moved["spec"] = {k: v for k, v in moved["spec"].items() if k != "dependsOn"}
    return objects.changed(moved, changes or {})


def apply(plane: ControlPlaneHarness, *bodies: Object) -> None:
    plane.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump_all(bodies))


def _fails(plane: ControlPlaneHarness, *command: str, body: Object | None = None) -> str:
    """Why a command of the tenant fails; empty if it succeeds."""
    text = None if body is None else yaml.safe_dump(body)
    try:
        plane.kubectl(*command, input=text, user=TENANT)
    except KubectlError as error:
        return str(error)
    return ""


def _direct() -> Iterator[Attempt]:
    """Requests that its rights do not allow."""
    merge = ("--type=merge", "-p", '{"spec":{"replicas":9}}')
    commands: dict[str, tuple[str, ...]] = {
        "read a Secret": ("get", "secret", "treasure", "-n", A),
        "list all Secrets": ("get", "secrets", "-A"),
        "read a cloud": ("get", "novas.nova.openstack.c5c3.io", "-n", A),
        "change a cloud": (
            "patch",
            "keystones.keystone.openstack.c5c3.io",
            "keystone",
            "-n",
            A,
            *merge,
        ),
        "forge a status": (
            *("patch", "keystones.keystone.openstack.c5c3.io", "keystone", "-n", A),
            *("--subresource=status", *merge),
        ),
        "delete a cloud": ("delete", "novas.nova.openstack.c5c3.io", "nova", "-n", A),
        "act as the operators": (
            *("get", "secret", "treasure", "-n", A),
            f"--as=system:serviceaccount:{OPERATORS}:cobalt-operators",
        ),
        "take a token of the operators": ("create", "token", "cobalt-operators", "-n", OPERATORS),
        "take over the leadership": ("delete", "lease", "cobalt-operators", "-n", OPERATORS),
        "take a node away": ("label", "node", NODE, "node-role.kubernetes.io/hypervisor-"),
        "widen its rights": (
            *("create", "clusterrolebinding", "mine", "--clusterrole=cluster-admin"),
            f"--user={TENANT}",
        ),
        "switch a policy off": ("delete", "validatingadmissionpolicies", "--all"),
    }
    for name, command in commands.items():
        yield Attempt(name, command, refused=FORBIDDEN)
    create = ("create", "-f", "-")
    yield Attempt("create a cloud elsewhere", create, FORBIDDEN, example("Glance", A))
    yield Attempt("register a hypervisor", create, FORBIDDEN, example("Hypervisor", ""))
    yield Attempt("grant itself a reference", create, FORBIDDEN, _grant(A))


def _grant(namespace: str) -> Object:
    return {
        "apiVersion": REFERENCE_GRANT.api_version,
        "kind": REFERENCE_GRANT.kind,
        "metadata": {"name": "mine", "namespace": namespace},
        "spec": {
            "from": [{"group": "neutron.openstack.c5c3.io", "kind": "Neutron", "namespace": B}],
            "to": [{"group": ovn.CLUSTER.group, "kind": ovn.CLUSTER.kind}, {"group": "", "kind": "Secret"}],
        },
    }  # fmt: skip


def _admission() -> Iterator[Attempt]:
    """Objects that must not be created."""
    create, elsewhere = ("create", "-f", "-"), {"kubernetes.io/hostname": "control-plane"}
    evil = {"repository": "evil.example/nova", "tag": "1"}
    cases: dict[str, tuple[str, dict[str, Any], str]] = {
        "run an image of its own as root": ("Nova", {"spec.image": evil}, "image"),
        "run on other nodes": ("OVNCluster", {"spec.ovs.nodeSelector": elsewhere}, "nodeSelector"),
        "name a Secret by a path": (
            "Keystone",
            {"spec.database.secretRef.name": "../a/treasure"},
            "secretRef",
        ),
        "fill the store": (
            "Keystone",
            {"spec.extraConfig": {f"s{n}": {"o": "x" * 4000} for n in range(500)}},
            "Too many",
        ),
    }
    for name, (kind, changes, text) in cases.items():
        yield Attempt(name, create, text, example(kind, B, changes))


def _accepted(uids: dict[str, str]) -> Iterator[Attempt]:
    """Objects of its own that name, imitate or claim those of `a`."""
    create = ("create", "-f", "-")
    for attempt, kind, changes, reported in (
        (
            "copy the keys of an OVN",
            "Neutron",
            {"spec.ovn.clusterRef": {"name": "ovn", "namespace": A}},
            "",
        ),
        (
            "use the Ceph of another",
            "Glance",
            {"spec.storage.rbd.cephClientRef": {"name": "glance", "namespace": A}},
            "",
        ),
        ("claim hypervisors", "Nova", {}, "NodeClaimed"),
        ("run a second Open vSwitch", "OVNCluster", {}, ""),
        ("imitate an identity service", "Keystone", {}, ""),
        ("rotate a foreign credential", "CredentialRotation", {}, ""),
        ("a cloud of the same name", "ControlPlane", {}, ""),
    ):
        yield Attempt(attempt, create, body=example(kind, B, changes), reason=reported)
    yield Attempt("grant in its own namespace", create, body=_grant(B))
    owner = {"apiVersion": keystone.KIND.api_version, "kind": "Keystone", "name": "keystone"}
    owners = [{**owner, "uid": uids["Keystone"], "controller": True}]
    labels = names.labels("keystone", "keystone", "db-sync")
    pod = {"containers": [{"name": "c", "image": "busybox"}], "restartPolicy": "Never"}
    for kind, version, body in (
        ("ConfigMap", "v1", {"data": {"keystone.conf": "[DEFAULT]"}}),
        ("Secret", "v1", {"data": {"password": "eA=="}}),
        ("Pod", "v1", {"spec": pod}),
        ("Job", "batch/v1", {"spec": {"template": {"spec": pod}}}),
    ):
        meta = {
            "name": f"keystone-{kind.lower()}",
            "namespace": B,
            "labels": labels,
            "ownerReferences": owners,
            "finalizers": ["b.example/forever"],
        }
        child = {"apiVersion": version, "kind": kind, "metadata": meta, **body}
        yield Attempt(f"a {kind} as a child of the Keystone of a", create, body=child)
    chassis = example("OVNChassis", B)
    chassis["metadata"] |= {"name": NODE, "finalizers": ["b.example/forever"]}
    yield Attempt("a chassis of its own for the node", create, body=chassis)
    mine = ("keystones.keystone.openstack.c5c3.io", "keystone", "-n", B)
    finalizers = '{"metadata":{"finalizers":["b.example/forever"]}}'
    yield Attempt("an object that never goes", ("patch", *mine, "--type=merge", "-p", finalizers))
    yield Attempt("delete it", ("delete", *mine, "--wait=false"))


def _resources() -> str:
    kinds: list[Kind] = [each.kind for each in base.definitions() if each.kind.namespaced]
    kinds += services.FOREIGN
    return ",".join([*WORKLOADS, *(f"{each.plural}.{each.group}" for each in kinds)])


def state(plane: ControlPlaneHarness) -> dict[str, Any]:
    """What exists in `a`, without what changes by itself."""
    listed = json.loads(plane.kubectl("get", _resources(), "-n", A, "-o", "json"))["items"]
    found = {}
    for each in listed:
        meta = {
            k: v
            for k, v in each["metadata"].items()
            if k not in ("resourceVersion", "managedFields")
        }
        reasons = {
            c["type"]: (c["status"], c.get("reason"))
            for c in (each.get("status") or {}).get("conditions") or ()
        }
        rest = {k: v for k, v in each.items() if k not in ("metadata", "status")}
        found[f"{each['kind']}/{meta['name']}"] = {"meta": meta, "reasons": reasons, **rest}
    return found  # fmt: skip


async def at_rest(plane: ControlPlaneHarness) -> dict[str, Any]:
    """The state of `a` when nothing changes any more."""
    same = itertools.count(1)
    last: dict[str, Any] = {}

    async def is_stable() -> bool:
        nonlocal same, last
        found = await asyncio.to_thread(state, plane)
        if found != last or not found:
            last, same = found, itertools.count(1)
            return False
        await asyncio.sleep(0.5)
        return next(same) >= 4

    await eventually(is_stable, "nothing changes in a")
    return last


def reasons(plane: ControlPlaneHarness, attempt: Attempt) -> set[str]:
    """The reasons of the conditions of the object of an attempt."""
    assert attempt.body is not None
    kind, name = attempt.body["kind"].lower(), attempt.body["metadata"]["name"]
    live = json.loads(plane.kubectl("get", kind, name, "-n", B, "-o", "json"))
    return {each["reason"] for each in (live.get("status") or {}).get("conditions") or ()}


async def test_tenant_of_one_namespace_changes_and_reads_nothing_of_another(
    plane: ControlPlaneHarness,
) -> None:
    every = [each.name for each in registry.operators()]
    async with serving(plane, every) as running:
        before = await at_rest(plane)
        assert {"Keystone/keystone", "Nova/nova", "OVNCluster/ovn"} <= before.keys()
        uids = {key.partition("/")[0]: each["meta"]["uid"] for key, each in before.items()}
        outcomes: dict[str, str] = {}
        for each in (*_direct(), *_admission(), *_accepted(uids)):
            failure = await asyncio.to_thread(_fails, plane, *each.command, body=each.body)
            outcomes[each.name] = failure
            assert bool(failure) == bool(each.refused), f"{each.name}: {failure or 'accepted'}"
            assert each.refused.lower() in failure.lower(), f"{each.name}: {failure}"
        assert len(outcomes) >= 25
        for each in _accepted(uids):
            if each.reason:

                async def is_reported(attempt: Attempt = each) -> bool:
                    return attempt.reason in await asyncio.to_thread(reasons, plane, attempt)

                try:
                    await eventually(is_reported, f"{each.name}: {each.reason}", seconds=60)
                except AssertionError as error:
                    raise AssertionError(f"{error}: {reasons(plane, each)}") from error
        after = await at_rest(plane)
        assert not running.task.done(), "the operators ended"
    assert after == before
    resources = f"{_resources()},events.events.k8s.io"
    everything = plane.kubectl("get", resources, "-n", B, "-o", "json")
    assert TREASURE not in everything
    assert ENCODED not in everything
