"""Application credentials from the first one to the second: real API server, K-ORC simulated."""

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from cobaltcore.api import placement
from cobaltcore.api.credentials import ROTATION
from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.context import Context
from cobaltcore.operators.credentials.operator import OPERATOR
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.manager import Manager
from cobaltcore.runtime.meta import Key, Object
from cobaltcore.runtime.timestamps import parse_timestamp, timestamp
from tests.support import services
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually, read, transport
from tests.support.rights import as_operator

AGENT = "credential-rotation"
CLOUD = """
clouds:
  openstack:
    auth: {auth_url: "http://keystone.test:5000/v3", username: admin, password: throw-away}
    region_name: RegionOne
"""


@dataclass(frozen=True)
class World:
    client: Client
    space: str

    async def make(self, kind: Any, name: str, **body: Any) -> None:
        meta = {"name": name, "namespace": self.space}
        await self.client.create(
            kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **body}
        )

    async def report(self, kind: Any, name: str, status: Object) -> None:
        """Say what K-ORC would say of an object."""
        key = Key(self.space, name)
        await self.client.patch(kind, key, {"status": status}, subresource="status")

    async def secret(self, name: str) -> dict[str, str]:
        found = await read(self.client, SECRET, Key(self.space, name))
        data = (found or {}).get("data") or {}
        return {key: base64.b64decode(value).decode() for key, value in data.items()}

    async def rotation(self) -> Object:
        found = await self.client.get(ROTATION, Key(self.space, "placement-app-credential"))
        reported: Object = found.get("status") or {}
        return reported

    async def uses(self, id_: str) -> None:
        """Let the service say that all its pods use a credential."""
        status = {"status": {"applicationCredentialID": id_}}
        key = Key(self.space, "placement")
        await self.client.patch(placement.KIND, key, status, subresource="status")


@pytest.fixture(scope="module")
def foreign_kinds(installed_crds: ControlPlaneHarness) -> ControlPlaneHarness:
    installed_crds.install_crds(services.foreign_crds())
    return installed_crds


@pytest.fixture
async def world(foreign_kinds: ControlPlaneHarness, namespace: str) -> AsyncIterator[World]:
    observer = Client(transport(foreign_kinds, "test-observer"))
    clients = [
        Client(as_operator(foreign_kinds, AGENT, "credentials")),
        Client(transport(foreign_kinds, "korc")),
    ]
    own, other = (Cluster(each) for each in clients)
    managers = [
        Manager({"local": own}, OPERATOR.controllers(Context(own, "test"))),
        Manager(
            {"local": other},
            services.Approval(other, (korc.USER, korc.APPLICATION_CREDENTIAL)).controllers,
        ),
    ]
    tasks = [asyncio.ensure_future(each.run()) for each in managers]
    yield World(observer, namespace)
    for each in managers:
        each.stop()
    await asyncio.wait_for(asyncio.gather(*tasks), 60)
    for client in (*clients, observer):
        await client.close()


async def prepare(world: World) -> None:
    reference = {"cloudName": "openstack", "secretName": "k-orc-clouds-yaml"}
    await world.make(SECRET, "k-orc-clouds-yaml", stringData={"clouds.yaml": CLOUD})
    await world.make(SECRET, "placement-service-password", stringData={"password": "its own"})
    await world.make(
        korc.PROJECT, "service", spec={"cloudCredentialsRef": reference, "resource": {}}
    )
    await world.make(
        ROTATION,
        "placement-app-credential",
        spec={"targetServiceUser": "placement-service-user", "gracePeriodDays": 0},
    )
    reported = await waiting(world, "User 'placement-service-user' does not exist")
    assert reported
    await world.make(
        korc.USER,
        "placement-service-user",
        spec={
            "cloudCredentialsRef": reference,
            "resource": {
                "name": "placement",
                "passwordRef": "placement-service-password",
                "defaultProjectRef": "service",
            },
        },
    )


async def waiting(world: World, message: str) -> bool:
    async def named() -> bool:
        conditions = (await world.rotation()).get("conditions") or []
        return any(each.get("message") == message for each in conditions)

    await eventually(named, message)
    return True


async def ask(world: World, when: str) -> None:
    patch = {"metadata": {"annotations": {"c5c3.io/rotate-after": when}}}
    await world.client.patch(ROTATION, Key(world.space, "placement-app-credential"), patch)


async def in_use(world: World, name: str) -> bool:
    reported = await world.rotation()
    current = (reported.get("currentCredentialRef") or {}).get("name")
    used = any(
        c["type"] == "CredentialInUse" and c["status"] == "True"
        for c in reported.get("conditions") or ()
    )
    return bool(current == name and used)


async def test_a_credential_is_replaced_only_after_the_service_uses_the_new_one(
    world: World,
) -> None:
    await prepare(world)
    await eventually(lambda: in_use(world, "placement-app-credential-v1"), "the first credential")
    login = await world.secret("placement-clouds-yaml")
    assert "its own" in login["clouds.yaml"]
    first = await world.secret("placement-app-credential")
    await world.make(
        placement.KIND,
        "placement",
        spec={
            "image": {"repository": "ghcr.io/c5c3/placement", "tag": "14.0.0"},
            "database": {"database": "placement", "host": "db", "secretRef": {"name": "db"}},
            "keystone": {
                "authUrl": "http://keystone.test:5000/v3",
                "appCredentialRef": {"secretName": "placement-app-credential"},
            },
        },
    )
    await world.uses(first["application_credential_id"])
    await ask(world, "soon")
    await waiting(
        world, "annotation c5c3.io/rotate-after: 'soon' is not a time like 2026-01-31T12:00:00Z"
    )
    created = await world.client.get(
        korc.APPLICATION_CREDENTIAL, Key(world.space, "placement-app-credential-v1")
    )
    created_at = parse_timestamp(created["metadata"]["annotations"]["c5c3.io/created-at"])
    await ask(world, timestamp(created_at + timedelta(seconds=1)))

    async def handed_out() -> bool:
        return await world.secret("placement-app-credential") != first

    await eventually(handed_out, "the successor is handed out")
    await waiting(world, "Placement 'placement' still use the predecessor")
    old = Key(world.space, "placement-app-credential-v1")
    assert await read(world.client, korc.APPLICATION_CREDENTIAL, old)
    second = await world.secret("placement-app-credential")
    await world.uses(second["application_credential_id"])

    async def revoked() -> bool:
        return await read(world.client, korc.APPLICATION_CREDENTIAL, old) is None

    await eventually(revoked, "the predecessor is revoked")
    await eventually(lambda: in_use(world, "placement-app-credential-v2"), "the second one")

    async def forgotten() -> bool:
        return "previousCredentialRef" not in await world.rotation()

    await eventually(forgotten, "the predecessor is no longer named")


async def test_a_credential_that_lacks_a_role_of_its_user_is_replaced(world: World) -> None:
    await prepare(world)
    await eventually(lambda: in_use(world, "placement-app-credential-v1"), "the first credential")
    reference = {"cloudName": "openstack", "secretName": "k-orc-clouds-yaml"}
    resource = {"roleRef": "service", "userRef": "placement-service-user", "projectRef": "service"}
    await world.make(
        korc.ROLE_ASSIGNMENT,
        "placement-service",
        spec={"cloudCredentialsRef": reference, "resource": resource},
    )
    available = {
        "type": "Available",
        "status": "True",
        "reason": "Success",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    assigned = {"conditions": [available], "resource": {"roleID": "of-services"}}
    await world.report(korc.ROLE_ASSIGNMENT, "placement-service", assigned)

    without = {"resource": {"roles": [{"id": "of-administrators", "name": "admin"}]}}
    await world.report(korc.APPLICATION_CREDENTIAL, "placement-app-credential-v1", without)

    await eventually(lambda: in_use(world, "placement-app-credential-v2"), "the second credential")


async def test_a_deleted_rotation_waits_until_its_credential_is_revoked(world: World) -> None:
    """And is not kept for ever by a credential that cannot be revoked: its login is gone."""
    await prepare(world)
    await eventually(lambda: in_use(world, "placement-app-credential-v1"), "the first credential")
    credential = Key(world.space, "placement-app-credential-v1")
    held = {"metadata": {"finalizers": ["openstack.k-orc.cloud/applicationcredential"]}}
    await world.client.patch(korc.APPLICATION_CREDENTIAL, credential, held)
    rotation = Key(world.space, "placement-app-credential")
    await world.client.delete(ROTATION, rotation)

    async def revoking() -> bool:
        found = await world.client.get(korc.APPLICATION_CREDENTIAL, credential)
        return "deletionTimestamp" in found["metadata"]

    await eventually(revoking, "the credential is being revoked")
    assert await read(world.client, ROTATION, rotation), "it waits for that"
    await world.client.delete(SECRET, Key(world.space, "placement-clouds-yaml"))

    async def gone() -> bool:
        return await read(world.client, ROTATION, rotation) is None

    await eventually(gone, "the rotation is gone, as its credential cannot be revoked")
    assert await read(world.client, korc.APPLICATION_CREDENTIAL, credential) is None
