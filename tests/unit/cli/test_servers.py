"""The number of servers, as `cobalt status` shows it."""

import pytest

from cobaltcore.cli import cloudlogin, servers
from cobaltcore.engine.desired.clouds import Login
from cobaltcore.runtime import offline
from cobaltcore.runtime.client import Client
from tests.support.openstack_peer import Peer, peer


@pytest.fixture
def client() -> Client:
    return offline.cluster().client


def log_in_at(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    login = Login(
        auth_url=url, username="admin", password="x", project="admin", region="RegionOne"
    )

    async def read(client: Client, namespace: str) -> cloudlogin.Cloud:
        return cloudlogin.Cloud(namespace, login, {})

    monkeypatch.setattr(cloudlogin, "read", read)


def path(cloud: Peer) -> str:
    return cloud.path("compute", "/servers")


async def test_servers_of_all_projects_are_counted(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with peer() as cloud:
        log_in_at(cloud.auth_url, monkeypatch)
        cloud.content[path(cloud)] = {"servers": [{"id": "a"}, {"id": "b"}]}
        found = await servers.count(client, "openstack")
        asked = [each.query for each in cloud.asked if each.path == path(cloud)]
    assert (found.number, found.failed, found.message) == (2, 2, "")
    assert all(each["all_tenants"] == "true" for each in asked)
    assert sorted(each.get("status", "") for each in asked) == ["", "ERROR"]


async def test_a_number_that_is_unknown_has_a_reason(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in_at("http://127.0.0.1:9/v3", monkeypatch)
    found = await servers.count(client, "openstack")
    assert found.number is None
    assert "127.0.0.1:9" in found.message
