"""Settings of Valkey hold any password."""

import pytest

from cobaltcore.api.foreign.valkey import Persistence, ValkeySpec
from cobaltcore.lab.providers import valkey_server
from cobaltcore.runtime.meta import Key


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
def test_a_password_stays_one_value(password: str, written: str) -> None:
    assert valkey_server.quoted(password) == written
    assert f"requirepass {written}" in valkey_server.settings(ValkeySpec(), password).splitlines()


def test_data_is_written_only_where_it_is_kept() -> None:
    kept = ValkeySpec(persistence=Persistence(enabled=True))
    assert "appendonly yes" in valkey_server.settings(kept, "p")
    assert "appendonly no" in valkey_server.settings(ValkeySpec(), "p")


def test_a_sentinel_knows_the_primary_by_name() -> None:
    text = valkey_server.sentinel_settings(Key("openstack", "cache"), "p")
    host = "valkey-cache-primary.openstack.svc.cluster.local"
    assert f"sentinel monitor myprimary {host} 6379 1" in text
