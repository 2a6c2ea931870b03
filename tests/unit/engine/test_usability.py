"""APIReady means usable: asked as the service's own user."""

import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from cobaltcore.api.foreign.kubernetes import ENDPOINT_SLICE, SECRET
from cobaltcore.engine import definitions, usability, workloads
from cobaltcore.engine.apiprobe import ApiProbe
from cobaltcore.engine.context import Context
from cobaltcore.engine.definition import ServiceScope
from cobaltcore.engine.scope import Answer
from cobaltcore.engine.usability import Finding
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.runtime import offline
from cobaltcore.runtime.meta import Key, Kind, Object
from tests.support import planning
from tests.support.openstack_peer import Peer, Route, peer

KINDS = sorted(each.kind.kind for each in definitions.services())


@pytest.fixture
async def cloud() -> AsyncIterator[Peer]:
    async with peer() as found:
        yield found


def a_slice(name: str, *addresses: str) -> tuple[Kind, Object]:
    meta = {"name": f"{name}-1", "namespace": planning.NAMESPACE}
    endpoints = [{"addresses": [each], "conditions": {"ready": True}} for each in addresses]
    return ENDPOINT_SLICE, {"metadata": meta, "endpoints": endpoints}


def a_scope(kind: str, **changes: Any) -> ServiceScope[Any]:
    """A service with a pod, and with everything that it refers to."""
    obj = planning.an_object(kind, **changes)
    found = planning.scope(obj, a_slice(obj["metadata"]["name"], "10.0.0.1"))
    if kind == "Keystone":
        content = {"username": "admin", "password": "s3cret"}
        data = {k: base64.b64encode(v.encode()).decode() for k, v in content.items()}
        key = found.sibling(f"{found.name}-admin-login")
        contents = {**found.observed.contents, (SECRET, key): {"data": data}}
        found = replace(found, observed=replace(found.observed, contents=contents))
    return found


async def asked(scope: ServiceScope[Any], cloud: Peer) -> Verdict:
    """The verdict after one question."""
    (probe,) = ApiProbe().probes()
    context = Context(offline.cluster(), "test", openstack=Route(cloud))
    answer = Answer(await probe.ask(scope, context))
    return usability.verdict(replace(scope, answers={usability.PROBE: answer}))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_working_api_of_every_service_is_usable(cloud: Peer, kind: str) -> None:
    scope = a_scope(kind)
    assert usability.subject(scope) is not None
    assert await asked(scope, cloud) == Ready("Serving")
    type_ = usability.type_of(scope).name
    lists = [each for each in cloud.asked if each.path.startswith(f"/{type_}/")]
    assert len(lists) >= 1
    assert {each.method for each in cloud.asked[1:]} == {"GET"}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_wrong_credential_names_itself(cloud: Peer, kind: str) -> None:
    cloud.refuses |= {"5ad17e", "admin"}
    found = await asked(a_scope(kind), cloud)
    assert isinstance(found, Waiting)
    assert found.reason == "CredentialRefused"
    assert "correct the Secret that has it" in found.message


async def test_a_policy_that_forbids_a_list_names_itself(cloud: Peer) -> None:
    refusal = {"forbidden": {"code": 403, "message": "Policy doesn't allow servers:index"}}
    cloud.replies["/compute/v2.1/servers"] = [web.json_response(refusal, status=403)]
    found = await asked(a_scope("Nova"), cloud)
    assert isinstance(found, Waiting)
    assert found.reason == "Forbidden"
    assert "/servers: 403: Policy doesn't allow servers:index; give the user" in found.message
    assert "policyOverrides" in found.message


async def test_an_endpoint_that_is_not_in_the_catalogue_names_itself(cloud: Peer) -> None:
    cloud.unlisted.add("image")
    found = await asked(a_scope("Glance"), cloud)
    assert isinstance(found, Waiting)
    assert found.reason == "EndpointMissing"
    assert "openstack endpoint create" in found.message


async def test_endpoints_that_come_and_go_are_noticed_with_the_same_token(cloud: Peer) -> None:
    (probe,) = ApiProbe().probes()
    context = Context(offline.cluster(), "test", openstack=Route(cloud))
    reasons = []
    for unlisted in ({"image"}, set(), {"image"}):
        cloud.unlisted = unlisted
        found = await probe.ask(a_scope("Glance"), context)
        assert isinstance(found, Finding)
        reasons.append(found.reason)
    assert reasons == ["EndpointMissing", "", "EndpointMissing"]
    assert cloud.tokens == ["token-1"]


async def test_an_api_that_cannot_be_reached_names_itself(cloud: Peer) -> None:
    cloud.replies["/image/v2/images"] = [web.Response(status=503) for _ in range(5)]
    found = await asked(a_scope("Glance"), cloud)
    assert isinstance(found, Waiting)
    assert "/image/v2/images: 503" in found.message
    gone = Peer(url="http://127.0.0.1:1")
    found = await asked(a_scope("Glance"), gone)
    assert isinstance(found, Waiting)
    assert found.reason == "Unreachable"
    assert "check that 127.0.0.1:1 can be reached" in found.message


async def test_what_is_no_api_names_itself(cloud: Peer) -> None:
    cloud.replies["/image/v2/images"] = [web.Response(text="<html>")]
    found = await asked(a_scope("Glance"), cloud)
    assert isinstance(found, Waiting)
    assert found.reason == "NotUsable"


async def test_one_login_serves_many_questions(cloud: Peer) -> None:
    (probe,) = ApiProbe().probes()
    context = Context(offline.cluster(), "test", openstack=Route(cloud))
    for _ in range(3):
        await probe.ask(a_scope("Glance"), context)
    assert cloud.count("POST", "/identity/v3/auth/tokens") == 1


def test_new_pods_and_other_credentials_are_another_subject() -> None:
    obj = planning.an_object("Glance")
    name = obj["metadata"]["name"]
    one = usability.subject(planning.scope(obj, a_slice(name, "10.0.0.1")))
    two = usability.subject(planning.scope(obj, a_slice(name, "10.0.0.1", "10.0.0.2")))
    other = planning.an_object("Glance", keystone__region="RegionTwo")
    three = usability.subject(planning.scope(other, a_slice(name, "10.0.0.1")))
    assert len({one, two, three}) == 3
    assert one == usability.subject(planning.scope(obj, a_slice(name, "10.0.0.1")))
    assert "s3cret" not in repr(one)


def test_nothing_is_asked_without_a_pod_or_a_login() -> None:
    obj = planning.an_object("Glance")
    assert usability.subject(planning.scope(obj)) is None
    scope = planning.scope(obj, a_slice(obj["metadata"]["name"], "10.0.0.1"))
    bare = replace(scope, observed=replace(scope.observed, contents={}))
    assert usability.subject(bare) is None


def test_a_name_of_one_word_is_a_service_next_to_the_object() -> None:
    url = "https://keystone:5000/v3"
    cloud = usability.cloud(a_scope("Glance", keystone__authUrl=url))
    assert cloud is not None
    assert cloud.auth_url == "https://keystone.openstack.svc.cluster.local:5000/v3"
    kept = "https://identity.example.com/v3"
    cloud = usability.cloud(a_scope("Glance", keystone__authUrl=kept))
    assert cloud is not None
    assert cloud.auth_url == kept


def test_the_first_response_is_waited_for_and_a_dry_run_asks_nothing() -> None:
    scope = a_scope("Glance")
    assert usability.verdict(scope) == Ready("Serving")
    pending = usability.verdict(replace(scope, answers={usability.PROBE: Answer()}))
    assert isinstance(pending, Waiting)
    assert pending.reason == "Asking"
    late = replace(scope, answers={usability.PROBE: Answer(fault="no answer within 20 s")})
    assert usability.verdict(late) == Waiting("Unreachable", "no answer within 20 s")


def test_an_unusable_api_is_asked_more_often() -> None:
    scope = a_scope("Glance")
    assert usability.period(scope, Answer(Finding())) == usability.CALM
    assert usability.period(scope, Answer(Finding("Forbidden", "no"))) == usability.BUSY


def a_pod(name: str, node: str, *, ready: bool = True) -> Object:
    status = {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
    meta = {"name": name, "namespace": planning.NAMESPACE}
    return {"metadata": meta, "spec": {"nodeName": node}, "status": status}


def judged(kind: str, rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> Verdict:
    """The verdict on rows, with ready pods on `n1` and `n2`."""
    monkeypatch.setattr(workloads, "nodes", lambda scope, component: {"n1", "n2"})
    scope = a_scope(kind)
    check = scope.service.check
    assert check is not None
    (row,) = [each.row for each in check.lists if each.row is not None]
    finding = Finding(rows=tuple(row(**each) for each in rows))
    return usability.verdict(replace(scope, answers={usability.PROBE: Answer(finding)}))


def test_a_nova_compute_that_is_down_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"host": "n1", "state": "up", "status": "enabled"},
        {"host": "n2", "state": "down", "status": "enabled"},
        {"host": "retired", "state": "down", "status": "enabled"},
    ]
    found = judged("Nova", rows, monkeypatch)
    assert found == Waiting(
        "NotUsable", "1/2 nova-compute are up: that on 'n2' is down; its log has the cause"
    )
    rows[1]["status"] = "disabled"
    assert judged("Nova", rows, monkeypatch) == Ready("Serving")


def test_an_agent_that_is_not_alive_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = ("OVN Controller agent", "OVN Metadata agent")
    rows = [
        {"host": host, "alive": (host, kind) != ("n1", kinds[1]), "agent_type": kind}
        for host in ("n1", "n2")
        for kind in kinds
    ]
    found = judged("Neutron", rows, monkeypatch)
    assert isinstance(found, Waiting)
    assert "3/4 agents are alive: 'OVN Metadata agent' on 'n1' is not" in found.message


def test_only_nodes_with_ready_pods_count() -> None:
    pods = [a_pod("a", "n1"), a_pod("b", "n2", ready=False)]
    scope = planning.scope(planning.an_object("Nova"))
    observed = replace(scope.observed, select=lambda kind, index, value: pods)
    assert workloads.nodes(replace(scope, observed=observed), "compute") == {"n1"}


def test_every_service_has_a_check() -> None:
    assert [each.name for each in definitions.services() if each.check is None] == []


def test_the_bundle_has_the_ca_of_keystone_and_of_the_service() -> None:
    scope = a_scope("Glance", tls={"enabled": True, "issuerRef": {"name": "ca"}})
    key = Key(planning.NAMESPACE, f"{scope.name}-tls")
    own = {"data": {"ca.crt": base64.b64encode(b"own authority").decode()}}
    contents = {**scope.observed.contents, (SECRET, key): own}
    scope = replace(scope, observed=replace(scope.observed, contents=contents))
    assert usability.own_authority(scope) == "own authority"
    cloud = usability.cloud(scope)
    assert cloud is not None
    trusted = scope.spec.keystone.ca_secret_ref
    assert cloud.ca_certificates == ("authority\nown authority" if trusted else "")
