"""What services cache in memcached is encrypted with a key of their own, which no ConfigMap has."""

import pytest

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET
from cobaltcore.engine import access, steps
from cobaltcore.engine.verdict import Waiting
from cobaltcore.runtime.meta import Key
from tests.support import openstack, planning

CACHE = {"servers": ["memcached:11211"]}
SERVICES = ("Barbican", "Cinder", "Glance", "Neutron", "Nova")
KEY = "memcache_secret_key"


@pytest.mark.parametrize("kind", SERVICES)
def test_cached_tokens_are_encrypted(kind: str) -> None:
    scope = planning.scope(planning.an_object(kind, cache=CACHE))
    file = "glance-api.conf" if kind == "Glance" else f"{kind.lower()}.conf"
    options = planning.options(scope, file)["keystone_authtoken"]
    assert options["memcached_servers"] == "memcached:11211"
    assert options["memcache_security_strategy"] == "ENCRYPT"
    assert planning.secret_options(scope)["keystone_authtoken"][KEY] == openstack.PRIVATE


@pytest.mark.parametrize("kind", ["Keystone", "Nova"])
def test_other_cached_values_are_encrypted(kind: str) -> None:
    scope = planning.scope(planning.an_object(kind, cache=CACHE))
    options = planning.options(scope, f"{kind.lower()}.conf")["cache"]
    assert options["backend"] == "dogpile.cache.pymemcache"
    assert planning.secret_options(scope)["cache"][KEY] == openstack.PRIVATE


@pytest.mark.parametrize("kind", ["Keystone", *SERVICES])
def test_key_is_generated_and_in_no_config_map(kind: str) -> None:
    scope = planning.scope(planning.an_object(kind, cache=CACHE))
    objects = planning.everything(scope)
    created = planning.of_kind(objects, SECRET)[f"{scope.name}-cache"]
    assert list(created["data"]) == ["memcache_secret_key"]
    assert openstack.PRIVATE not in str(planning.of_kind(objects, CONFIG_MAP))


def test_no_key_without_a_cache() -> None:
    scope = planning.scope(planning.an_object("Placement"))
    assert not scope.spec.cache
    assert list(access.generated(scope)) == []
    assert KEY not in planning.secret_options(scope)["keystone_authtoken"]


def test_service_waits_for_its_key() -> None:
    scope = planning.scope(planning.an_object("Glance", cache=CACHE))
    assert isinstance(scope.observed.contents, dict)
    del scope.observed.contents[SECRET, Key(planning.NAMESPACE, "glance-cache")]
    result = steps.secrets(scope)
    assert isinstance(result.verdict, Waiting)
    assert "'glance-cache' (cache) does not exist" in result.verdict.message
    assert [each.key.name for each in result.objects] == ["glance-cache"]
