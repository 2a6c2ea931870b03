"""No reference of any kind leaves its namespace unless the other namespace grants it."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from cobaltcore.api import base
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET
from cobaltcore.api.ovn import CLUSTER
from cobaltcore.engine import grants, registry
from cobaltcore.engine.planner import Planner
from cobaltcore.engine.verdict import Blocked, InputInvalid, Ready
from cobaltcore.runtime.meta import Key, Kind
from tests.support import field_reads, planning
from tests.support.objects import REMOVED
from tests.support.simulation import Simulation, external_secret, marker

VICTIM = "victim"
STOLEN = {"name": "stolen", "namespace": VICTIM}
SSL = "ssl:ovn.example:6641"
RBD = {"pool": "p", "cephSecretRef": {"name": "key", "key": "userKey"}, "cephClientRef": STOLEN}

CASES: dict[str, tuple[dict[str, Any], tuple[Kind, ...]]] = {
    "Neutron.spec.ovn.clusterRef": (
        {
            "ovn.clusterRef": STOLEN,
            "ovn.nbConnection": SSL,
            "ovn.sbConnection": SSL,
            "ovn.tlsSecretRef": REMOVED,
        },
        (SECRET,),
    ),
    "Glance.spec.storage.rbd.cephClientRef": ({"storage.rbd": RBD}, (CONFIG_MAP,)),
    "Nova.spec.storage.rbd.cephClientRef": ({"storage.rbd": RBD}, (CONFIG_MAP,)),
    "Cinder.spec.backends.rbd.cephClientRef": ({"backends.0.rbd": RBD}, (CONFIG_MAP,)),
}
"""By field: changes of the example that make an operator follow it, and what it then reads."""
PASSED_ON = {"ControlPlane.spec.infrastructure.ovn.clusterRef": "Neutron"}
"""Fields that another kind gets, by that kind."""
REFUSED = {"ControlPlane.spec.storage.ceph.clusterRef": "OtherNamespace"}
"""Fields that may not name another namespace at all, by the reason."""


def planner(kind: str) -> Planner[Any]:
    every = (each for operator in registry.operators() for each in operator.planners)
    return next(each for each in every if each.kind.kind == kind)


def base_kind(name: str) -> Kind:
    return next(each.kind for each in base.definitions() if each.kind.kind == name)


def crossing(struct: type[msgspec.Struct], path: str) -> Iterator[str]:
    """Fields below a struct whose value names a namespace."""
    for name, held in field_reads.fields(struct).items():
        below = f"{path}.{field_reads.wire_name(struct, name)}"
        for each in held:
            if "namespace" in each.__struct_fields__:
                yield below
            yield from crossing(each, below)


def every_crossing_field() -> set[str]:
    served = {kind for each in registry.operators() for kind in each.rights.serves}
    return {
        path
        for definition in base.definitions()
        if definition.kind in served
        for path in crossing(field_reads.fields(definition.struct)["spec"][0], "spec")
        for path in [f"{definition.kind.kind}.{path}"]
    }


def follower(field: str) -> Simulation:
    """An object whose field names objects of another namespace, all of which exist there."""
    changes, _ = CASES[field]
    kind = field.partition(".")[0]
    live = planning.an_object(kind, **{k.replace(".", "__"): v for k, v in changes.items()})
    found = Simulation(planner(kind), live)
    here = live["metadata"]["namespace"]
    found.objects[SECRET, Key(here, "key")] = external_secret(Key(here, "key"), ["userKey"])
    for name in ("stolen-tls", "stolen"):
        found.add_secret(Key(VICTIM, name))
    monitors = {
        "metadata": {"name": "m", "namespace": VICTIM},
        "data": {"data": "a=10.6.6.6:6789"},
    }
    found.objects[CONFIG_MAP, Key(VICTIM, "rook-ceph-mon-endpoints")] = monitors
    return found


def stolen(found: Simulation) -> bool:
    """Whether an object of ours holds what is in the other namespace."""
    written = "".join(
        "".join(planning.secret_texts(each).values()) if each.kind == SECRET else str(each.body)
        for each in found.desired.values()
    )
    return marker("stolen-tls", "tls.key") in written or "10.6.6.6" in written


def test_every_field_that_names_a_namespace_has_a_case() -> None:
    assert every_crossing_field() == {*CASES, *PASSED_ON, *REFUSED}


@pytest.mark.parametrize("field", CASES)
def test_nothing_is_read_in_a_namespace_that_has_not_granted_it(field: str) -> None:
    found = follower(field)
    plan = found.converge()
    assert isinstance(plan.verdict, Blocked)
    assert plan.verdict.reason == grants.NOT_PERMITTED
    assert f"create a ReferenceGrant in namespace {VICTIM!r}" in plan.verdict.message
    assert not stolen(found)


@pytest.mark.parametrize("field", CASES)
def test_granted_reference_is_followed(field: str) -> None:
    found = follower(field)
    found.grant(VICTIM, *CASES[field][1])
    assert isinstance(found.converge().verdict, Ready)
    assert stolen(found)


@pytest.mark.parametrize("field", PASSED_ON)
def test_reference_is_passed_on_to_the_kind_that_is_checked(field: str) -> None:
    plane = Simulation(
        planner("ControlPlane"),
        planning.an_object("ControlPlane", infrastructure__ovn__clusterRef=STOLEN),
    )
    plane.converge()
    found = planning.of_kind(plane.desired.values(), base_kind(PASSED_ON[field]))
    assert [each["spec"]["ovn"]["clusterRef"] for each in found.values()] == [STOLEN]


@pytest.mark.parametrize("field", REFUSED)
def test_reference_to_another_namespace_is_refused(field: str) -> None:
    path = field.split(".", 2)[2].replace(".", "__")
    plane = Simulation(
        planner("ControlPlane"), planning.an_object("ControlPlane", **{path: STOLEN})
    )
    verdict = plane.converge().verdict
    assert isinstance(verdict, Blocked)
    assert verdict.reason == REFUSED[field]


OWN = Kind("a.example", "v1", "Own", "owns")
GRANT = {
    "from": [{"group": "a.example", "kind": "Own", "namespace": "here"}],
    "to": [{"group": "ovn.c5c3.io", "kind": "OVNCluster", "name": "shared"}],
}


@pytest.mark.parametrize(
    ("namespace", "key", "spec"),
    [
        ("elsewhere", "shared", GRANT),
        ("here", "private", GRANT),
        ("here", "shared", {**GRANT, "to": []}),
        ("here", "shared", {**GRANT, "from": [{**GRANT["from"][0], "kind": "Other"}]}),
        ("here", "shared", {"from": "everybody", "to": 7}),
        ("here", "shared", None),
    ],
)
def test_grant_permits_what_it_names_and_no_more(namespace: str, key: str, spec: Any) -> None:
    other = Key("there", key)
    grants.check(OWN, "here", CLUSTER, Key("there", "shared"), [{"spec": GRANT}])
    with pytest.raises(InputInvalid, match="no ReferenceGrant permits"):
        grants.check(OWN, namespace, CLUSTER, other, [{"spec": spec}])
