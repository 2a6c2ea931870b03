import base64
from typing import Any

import pytest

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, DEPLOYMENT, SECRET
from cobaltcore.engine import steps
from cobaltcore.engine.definition import ServiceScope
from cobaltcore.engine.service import ServicePlanner
from cobaltcore.engine.verdict import Blocked, InputInvalid
from cobaltcore.runtime.meta import Desired, Key
from tests.support import objects, openstack, planning
from tests.support.simulation import Simulation

CONF, PASTE = "barbican.conf", "barbican-api-paste.ini"


def generated_kek(**changes: Any) -> Desired:
    scope = planning.scope(planning.an_object("Barbican", **changes))
    found = steps.secrets(scope).objects
    (secret,) = [each for each in found if each.key.name == "barbican-kek"]
    return secret


def pods(**changes: Any) -> dict[str, Any]:
    wanted = planning.everything(planning.scope(planning.an_object("Barbican", **changes)))
    deployments = planning.of_kind(wanted, DEPLOYMENT)
    return {name: each["spec"]["template"]["spec"] for name, each in deployments.items()}


def test_kek_is_generated_once_as_a_fernet_key() -> None:
    secret = generated_kek()
    assert secret.once
    assert len(base64.urlsafe_b64decode(planning.secret_texts(secret)["kek"])) == 32


@pytest.mark.parametrize(("policy", "kept"), [("Retain", True), ("Delete", False)])
def test_kek_is_kept_as_long_as_the_data_that_it_encrypts(policy: str, *, kept: bool) -> None:
    assert generated_kek(deletionPolicy=policy).kept is kept


def external_kek(text: str) -> ServiceScope[Any]:
    reference = {"name": "vaulted", "key": "fernet"}
    scope = planning.scope(planning.an_object("Barbican", secretStore__kekSecretRef=reference))
    contents: Any = scope.observed.contents
    data = {"fernet": base64.b64encode(text.encode()).decode()}
    contents[SECRET, scope.sibling("vaulted")] = {"metadata": {"name": "vaulted"}, "data": data}
    return scope


def test_kek_of_the_spec_is_used_and_none_is_generated() -> None:
    scope = external_kek(f"{openstack.KEK}\n")
    assert list(scope.service.passwords(scope.name, scope.spec)) == []
    assert planning.secret_options(scope)["simple_crypto_plugin"] == {"kek": openstack.KEK}


@pytest.mark.parametrize("text", ["", "too-short", openstack.KEK.replace("=", "*"), "a+/=" * 11])
def test_invalid_kek_is_refused_with_the_way_to_create_one(text: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        planning.rendered(external_kek(text))
    assert refused.value.verdict.message == (
        "Secret 'vaulted': the value of 'fernet' is not 32 bytes in URL-safe base64; "
        "create one with: openssl rand -base64 32 | tr +/ -_"
    )


def test_kek_is_in_a_secret_file_and_nowhere_else() -> None:
    scope = planning.scope(planning.an_object("Barbican"))
    assert planning.secret_options(scope)["simple_crypto_plugin"] == {"kek": openstack.KEK}
    wanted = planning.everything(scope)
    assert openstack.KEK not in str([each for each in wanted if each.kind == CONFIG_MAP])
    assert openstack.KEK not in str([each for each in wanted if each.kind == DEPLOYMENT])


def test_all_pods_mount_the_kek_where_the_programs_look_for_configuration() -> None:
    for pod in pods().values():
        mounts = {each["mountPath"]: each["name"] for each in pod["containers"][0]["volumeMounts"]}
        name = mounts["/etc/barbican.conf.d"]
        assert name == "secrets"
        (volume,) = [each for each in pod["volumes"] if each["name"] == name]
        assert volume["secret"]["secretName"] == "barbican-secret-options"


def test_workers_run_only_with_messaging() -> None:
    assert pods().keys() == {"barbican-api", "barbican-worker"}
    assert pods(messaging=objects.REMOVED).keys() == {"barbican-api"}


@pytest.mark.parametrize(
    ("changes", "enabled"), [({}, "true"), ({"messaging": objects.REMOVED}, "false")]
)
def test_orders_are_queued_only_for_workers(changes: dict[str, Any], enabled: str) -> None:
    scope = planning.scope(planning.an_object("Barbican", **changes))
    assert planning.options(scope, CONF)["queue"] == {"enable": enabled}


def test_references_follow_the_request() -> None:
    scope = planning.scope(planning.an_object("Barbican"))
    assert "host_href = \n" in planning.rendered(scope).config_map.body["data"][CONF]


def test_requests_are_authenticated_and_probes_are_not() -> None:
    found = planning.options(planning.scope(planning.an_object("Barbican")), PASTE)
    paths = found["composite:main"]
    assert "authtoken" in found[f"pipeline:{paths['/v1']}"]["pipeline"].split()
    assert f"app:{paths['/healthcheck']}" in found
    (api,) = pods()["barbican-api"]["containers"]
    assert api["readinessProbe"]["httpGet"]["path"] == "/healthcheck"


def test_missing_kek_is_named() -> None:
    scope = planning.scope(planning.an_object("Barbican"))
    contents: Any = scope.observed.contents
    contents[SECRET, scope.sibling("barbican-kek")] = {"metadata": {}, "data": {}}
    assert steps.secrets(scope).verdict.message == (
        "Secret 'barbican-kek' (key encryption key) has no key 'kek'"
    )


@pytest.mark.parametrize(
    ("kind", "file", "configuration"),
    [("Nova", "nova.conf", ""), ("Nova", "nova.conf", "compute"), ("Cinder", "cinder.conf", "")],
)
def test_keys_of_encrypted_volumes_are_in_the_key_manager_of_the_spec(
    kind: str, file: str, configuration: str
) -> None:
    obj = planning.an_object(kind, keystone__caSecretRef={"name": "trust"})
    assert "barbican" not in planning.options(planning.scope(obj), file, configuration)
    obj["spec"]["keyManager"] = {"backend": "barbican"}
    scope = planning.scope(obj)
    found = planning.options(scope, file, configuration)
    assert found["key_manager"] == {"backend": "barbican"}
    assert found["barbican"] == {
        "auth_endpoint": "https://keystone.openstack.svc.cluster.local:5000/v3",
        "barbican_api_version": "v1",
        "barbican_endpoint_type": "internal",
        "barbican_region_name": "RegionOne",
        "send_service_user_token": "true",
        "verify_ssl_path": "/etc/ssl/c5c3/ca.crt",
    }
    login = planning.secret_options(scope, configuration)["barbican_service_user"]
    secret = login["application_credential_secret"]
    assert secret == openstack.PRIVATE


def test_kek_that_is_lost_is_not_replaced() -> None:
    barbican = planning.an_object("Barbican")
    world = Simulation(ServicePlanner(planning.service("Barbican")), barbican)
    world.converge()
    kek = (SECRET, Key(planning.NAMESPACE, "barbican-kek"))
    del world.objects[kek]
    plan = world.plan()
    assert isinstance(plan.verdict, Blocked)
    assert plan.verdict.reason == "KeysLost"
    assert "Secret 'barbican-kek' (key encryption key) does not exist any more" in (
        plan.verdict.message
    )
    assert kek not in {(each.kind, each.key) for each in plan.objects}
    world.objects[kek] = {"metadata": {"name": "barbican-kek", "namespace": planning.NAMESPACE}}
    (filled,) = (each for each in world.plan().objects if (each.kind, each.key) == kek)
    assert (filled.once, filled.adopts) == (False, ()), "an empty one that a person created"
