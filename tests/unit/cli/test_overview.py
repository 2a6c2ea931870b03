"""One screen about a cluster, from its objects."""

from datetime import UTC, datetime, timedelta
from typing import Any

from cobaltcore.api import controlplane, keystone
from cobaltcore.api.credentials import ROTATION
from cobaltcore.api.foreign import certmanager, korc
from cobaltcore.api.foreign.kubernetes import DEPLOYMENT, EVENT, NODE, POD
from cobaltcore.cli import overview
from cobaltcore.cli.overview import Overview
from cobaltcore.engine.desired import names
from cobaltcore.runtime.meta import Key, Kind, Object

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def an_object(
    kind: Kind, name: str, *, labels: dict[str, str] | None = None, **parts: Any
) -> Object:
    meta = {"name": name, "namespace": "cloud", "generation": 2, "labels": labels or {}}
    return {"kind": kind.kind, "metadata": meta, "spec": {}, **parts}


def a_status(
    status: str, message: str = "", *, generation: int = 2, **more: Any
) -> dict[str, Any]:
    ready = {
        "type": "Ready", "status": status, "reason": "R", "message": message,
        "observedGeneration": generation,
    }  # fmt: skip
    return {"conditions": [ready], **more}


def seen(**parts: Any) -> Overview:
    objects = {
        controlplane.KIND: parts.get("planes", []),
        keystone.KIND: parts.get("keystones", []),
        DEPLOYMENT: parts.get("deployments", []),
        NODE: parts.get("nodes", []),
        POD: parts.get("pods", []),
        EVENT: parts.get("events", []),
        ROTATION: parts.get("rotations", []),
        certmanager.CERTIFICATE: parts.get("certificates", []),
        korc.ENDPOINT: parts.get("endpoints", []),
    }
    return overview.overview(objects, now=NOW, dates=parts.get("dates", {}))


def a_deployment(name: str, ready: int, wanted: int, **labels: str) -> Object:
    numbers = {"readyReplicas": ready, "updatedReplicas": wanted, "replicas": wanted}
    status = {**numbers, "observedGeneration": 2}
    found = an_object(DEPLOYMENT, name, labels=labels, status=status)
    found["spec"] = {"replicas": wanted}
    return found


def test_a_control_plane_with_its_blocker() -> None:
    status = a_status("False", "nova: no database", phase="Compute", progress="12/17")
    spec = {"openStackRelease": "2025.2"}
    (plane,) = seen(
        planes=[an_object(controlplane.KIND, "lab", spec=spec, status=status)]
    ).control_planes
    assert (plane.ready, plane.message, plane.progress) == (False, "nova: no database", "12/17")
    assert plane.release == "2025.2"


def test_a_generation_that_is_not_observed_is_never_ready() -> None:
    stale = an_object(controlplane.KIND, "lab", status=a_status("True", generation=1))
    new = an_object(controlplane.KIND, "new")
    first, second = seen(planes=[stale, new]).control_planes
    assert not first.ready
    assert "not observed" in first.message
    assert not second.ready
    assert "not reported" in second.message


def test_operators_at_zero_replicas_are_not_ready() -> None:
    labels = {"c5c3.io/platform": "cobalt-operators"}
    (found,) = seen(deployments=[a_deployment("cobalt-operators", 0, 0, **labels)]).operators
    assert not found.ready
    assert "scaled to 0" in found.message
    (found,) = seen(deployments=[a_deployment("cobalt-operators", 1, 1, **labels)]).operators
    assert found.ready


def test_a_service_with_version_pods_and_endpoint() -> None:
    image = {"repository": "r", "tag": "28.0.0"}
    status = a_status("True", endpoint="https://keystone:5000")
    service = an_object(keystone.KIND, "keystone", spec={"image": image}, status=status)
    labels = names.selector("keystone", "keystone", "api")
    other = names.selector("keystone", "other", "api")
    deployments = [a_deployment("a", 2, 3, **labels), a_deployment("b", 5, 5, **other)]
    (found,) = seen(keystones=[service], deployments=deployments).services
    assert (found.version, found.ready_pods, found.pods) == ("28.0.0", 2, 3)
    assert found.endpoint == "https://keystone:5000"


def test_a_hypervisor_with_a_pod_that_fails() -> None:
    node = an_object(NODE, "n1", status=a_status("True"))
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    status = {**a_status("False"), "containerStatuses": [{"name": "ovs", "state": waiting}]}
    bad = an_object(POD, "ovs-1", spec={"nodeName": "n1"}, status=status)
    good = an_object(POD, "ovs-2", spec={"nodeName": "n1"}, status=a_status("True"))
    (found,) = seen(nodes=[node], pods=[bad, good]).hypervisors
    assert (found.ready, found.ready_pods, found.pods) == (False, 1, 2)
    assert "ovs: CrashLoopBackOff" in found.message
    (found,) = seen(nodes=[node], pods=[good]).hypervisors
    assert found.ready


def test_pods_that_have_ended_do_not_count_against_a_hypervisor() -> None:
    node = an_object(NODE, "n1", status=a_status("True"))
    failed = an_object(POD, "job-1", spec={"nodeName": "n1"}, status={"phase": "Failed"})
    ending = an_object(POD, "old-1", spec={"nodeName": "n1"}, status=a_status("False"))
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    (found,) = seen(nodes=[node], pods=[failed, ending]).hypervisors
    assert (found.ready, found.pods) == (True, 0)


def test_what_expires_within_two_weeks_in_order() -> None:
    late = NOW + timedelta(days=30)
    soon = {"currentCredential": {"expiresAt": "2026-01-05T00:00:00Z"}}
    rotations = [an_object(ROTATION, "nova", status=soon)]
    certificates = [
        an_object(certmanager.CERTIFICATE, "tls", status={"notAfter": "2025-12-31T00:00:00Z"})
    ]
    dates = {Key("cloud", "own"): late}
    found = seen(rotations=rotations, certificates=certificates, dates=dates).expiries
    assert [(each.name, each.expired) for each in found] == [("tls", True), ("nova", False)]


def test_recent_warnings_once_per_object_and_reason() -> None:
    def an_event(minutes: int, reason: str, type_: str = "Warning") -> Object:
        at = (NOW - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        about = {"kind": "Pod", "name": "p", "namespace": "cloud"}
        return an_object(
            EVENT,
            "e",
            type=type_,
            reason=reason,
            note=f"{minutes} ago",
            eventTime=at,
            regarding=about,
        )

    events = [
        an_event(5, "BackOff"),
        an_event(1, "BackOff"),
        an_event(90, "Old"),
        an_event(1, "Fine", "Normal"),
    ]
    (found,) = seen(events=events).warnings
    assert (found.object, found.reason, found.message) == ("Pod/p", "BackOff", "1 ago")


def test_endpoints_of_the_catalogue() -> None:
    resource = {"serviceRef": "nova", "interface": "public", "url": "https://nova.example"}
    status = {"conditions": [{"type": "Available", "status": "True"}]}
    entry = an_object(korc.ENDPOINT, "nova-public", spec={"resource": resource}, status=status)
    (found,) = seen(endpoints=[entry]).endpoints
    assert (found.ready, found.service, found.url) == (True, "nova", "https://nova.example")
