"""Configuration files of Valkey and Sentinel."""

import pytest

from cobaltcore.api.foreign.valkey import Persistence, ValkeySpec
from cobaltcore.runtime.meta import Key
from cobaltlab.providers import valkey_server


@pytest.mark.parametrize(
    ("password", "written"),
    [
        ("plain", '"plain"'),
        ("with space", '"with space"'),
        ('"\\', '"\\x22\\x5c"'),
        ("line\nsave 1 1", '"line\\x0asave 1 1"'),
        ("\N{SNOWMAN}", '"\\xe2\\x98\\x83"'),
    ],
)
def test_any_password_is_quoted_as_one_value(password: str, written: str) -> None:
    assert valkey_server.quoted(password) == written
    assert f"requirepass {written}" in valkey_server.settings(ValkeySpec(), password).splitlines()


def test_the_append_only_file_needs_persistence() -> None:
    persistent = ValkeySpec(persistence=Persistence(enabled=True))
    assert "appendonly yes" in valkey_server.settings(persistent, "p")
    assert "appendonly no" in valkey_server.settings(ValkeySpec(), "p")


def test_sentinel_monitors_the_primary_by_host_name() -> None:
    text = valkey_server.sentinel_settings(Key("openstack", "cache"), "p")
    host = "valkey-cache-primary.openstack.svc.cluster.local"
    assert f"sentinel monitor myprimary {host} 6379 1" in text
