"""One ControlPlane object to a Keystone: real API server and controllers, pods simulated by KWOK."""

from typing import Any

from cobaltcore.api import controlplane, keystone, placement
from cobaltcore.api.credentials import ROTATION
from cobaltcore.api.foreign import korc, mariadb, rabbitmq
from cobaltcore.api.foreign.kubernetes import SECRET, STATEFUL_SET
from cobaltcore.engine.desired import secret
from cobaltcore.engine.desired.clouds import FILE
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object, owner_reference
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually, read
from tests.support.services import serving

OPERATORS = ("c5c3", "keystone")
OFF = {"enabled": False}


def a_control_plane(namespace: str, **spec: Any) -> Object:
    services = dict.fromkeys(("glance", "placement", "nova", "neutron", "cinder"), OFF)
    return {
        "apiVersion": controlplane.KIND.api_version,
        "kind": "ControlPlane",
        "metadata": {"name": "lab", "namespace": namespace},
        "spec": {"global": {"replicas": 1}, "services": services, **spec},
    }


async def status(client: Client, namespace: str) -> Object:
    found = await client.get(controlplane.KIND, Key(namespace, "lab"))
    reported: Object = found.get("status") or {}
    return reported


def is_ready(client: Client, namespace: str) -> Any:
    async def check() -> bool:
        found = await client.get(controlplane.KIND, Key(namespace, "lab"))
        reported = found.get("status") or {}
        ready = [c["status"] for c in reported.get("conditions", []) if c["type"] == "Ready"]
        return (
            ready == ["True"] and reported["observedGeneration"] == found["metadata"]["generation"]
        )

    return check


async def test_a_control_plane_comes_up_part_by_part_and_then_rests(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    await client.create(controlplane.KIND, a_control_plane(space))
    early: list[str] = []

    async def nothing_too_early() -> bool:
        created = await read(client, keystone.KIND, Key(space, "keystone"))
        cache = await read(client, STATEFUL_SET, Key(space, "memcached"))
        ready = ((cache or {}).get("status") or {}).get("readyReplicas", 0)
        if created is not None and not ready:
            early.append("keystone was created before its cache ran")
        ready_now: bool = await is_ready(client, space)()
        return ready_now

    async with serving(plane, OPERATORS) as running:
        await eventually(nothing_too_early, "the control plane is Ready", seconds=180)
        assert early == []
        reported = await status(client, space)
        assert (reported["phase"], reported["progress"]) == ("Ready", "6/6")
        assert reported["services"]["keystone"] == {"ready": True, "version": "28.0.0"}
        await eventually(running.rests, "the operators rest")
        mark = plane.mark()
        for each in running.controllers:
            each.queue.add(Key(space, "lab"))
            each.queue.add(Key(space, "keystone"))
        await eventually(running.rests, "the reconciles are done")
        assert plane.audit(since=mark, agent="service-operator") == []
    columns = plane.kubectl("get", "controlplanes", "-n", space).splitlines()
    assert columns[0].split() == [
        "NAME",
        "READY",
        "PHASE",
        "PROGRESS",
        "RELEASE",
        "MESSAGE",
        "AGE",
    ]
    assert columns[1].split()[:5] == ["lab", "True", "Ready", "6/6", "2025.2"]


async def test_a_service_gets_a_catalogue_entry_and_a_credential_of_its_own(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    wanted = a_control_plane(space)
    wanted["spec"]["services"]["placement"] = {"enabled": True}
    await client.create(controlplane.KIND, wanted)
    async with serving(plane, ("c5c3", "keystone", "placement", "credentials")) as running:
        await eventually(is_ready(client, space), "the control plane is Ready", seconds=180)
        reported = await status(client, space)
        assert (reported["phase"], reported["progress"]) == ("Ready", "10/10")
        credential = await client.get(SECRET, Key(space, "placement-keystone-credentials"))
        assert set(credential["data"]) == {
            "application_credential_id",
            "application_credential_secret",
        }
        created = await client.get(
            korc.APPLICATION_CREDENTIAL, Key(space, "placement-app-credential-v1")
        )
        user = reported["identity"]["serviceUsers"][0]
        assert (user["name"], user["status"]) == ("placement", "Ready")
        assert user["applicationCredential"]["credentialID"] == created["metadata"]["uid"]
        service = await client.get(placement.KIND, Key(space, "placement"))
        assert service["status"]["applicationCredentialID"] == created["metadata"]["uid"]
        for interface in ("public", "internal", "admin"):
            endpoint = await client.get(korc.ENDPOINT, Key(space, f"placement-{interface}"))
            assert endpoint["spec"]["resource"]["interface"] == interface
        await eventually(running.rests, "the operators rest")
        mark = plane.mark()
        for each in running.controllers:
            for name in ("lab", "keystone", "placement", "placement-app-credential"):
                each.queue.add(Key(space, name))
        await eventually(running.rests, "the reconciles are done")
        assert plane.audit(since=mark, agent="service-operator") == []


async def test_passwords_are_generated_once(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    await client.create(controlplane.KIND, a_control_plane(space))
    async with serving(plane, OPERATORS):
        await eventually(is_ready(client, space), "the control plane is Ready", seconds=180)
        before = await client.get(SECRET, Key(space, "keystone-db-credentials"))
    patch = {"spec": {"services": {"keystone": {"replicas": 2}}}}
    await client.patch(controlplane.KIND, Key(space, "lab"), patch)
    async with serving(plane, OPERATORS):
        await eventually(is_ready(client, space), "the control plane is Ready again", seconds=180)
        after = await client.get(SECRET, Key(space, "keystone-db-credentials"))
        assert after["data"] == before["data"]
        found = await client.get(keystone.KIND, Key(space, "keystone"))
        assert found["spec"]["replicas"] == 2


async def test_the_message_names_what_is_missing(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    broken = a_control_plane(space, infrastructure={"memcached": {"memory": "64Mi"}})
    await client.create(controlplane.KIND, broken)
    async with serving(plane, ["c5c3"]):

        async def named() -> bool:
            reported = await status(client, space)
            ready = [c for c in reported.get("conditions", []) if c["type"] == "Ready"]
            return (
                bool(ready)
                and "Keystone 'keystone' has not reported Ready yet" in ready[0]["message"]
            )

        await eventually(named, "nobody brings up Keystone", seconds=180)
        assert await read(client, mariadb.MARIADB, Key(space, "mariadb"))
        assert await read(client, rabbitmq.CLUSTER, Key(space, "rabbitmq"))


async def test_a_control_plane_is_deleted_in_order_and_keeps_its_data(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    wanted = a_control_plane(space)
    wanted["spec"]["services"]["placement"] = {"enabled": True}
    await client.create(controlplane.KIND, wanted)
    key = Key(space, "lab")
    operators = ("c5c3", "keystone", "placement", "credentials")
    async with serving(plane, operators):
        await eventually(is_ready(client, space), "the control plane is Ready", seconds=180)
        password = await client.get(SECRET, Key(space, "keystone-db-credentials"))
        keys = await client.get(SECRET, Key(space, "keystone-fernet-keys"))
        await client.delete(controlplane.KIND, key)
        early: list[str] = []

        async def gone() -> bool:
            user = await read(client, korc.USER, Key(space, "placement-service-user"))
            identity = await read(client, keystone.KIND, Key(space, "keystone"))
            if user is not None and identity is None:
                early.append("Keystone went before its users")
            role = await read(client, korc.ROLE_ASSIGNMENT, Key(space, "placement-service"))
            rotation = await read(client, ROTATION, Key(space, "placement-app-credential"))
            if role is None and rotation is not None:
                early.append("a user lost its role before its credential went")
            return await read(client, controlplane.KIND, key) is None

        await eventually(gone, "the control plane is gone", seconds=180)
        assert early == []
    for kept in (password, keys):
        found = await client.get(SECRET, Key(space, kept["metadata"]["name"]))
        assert found["data"] == kept["data"]
    await client.create(controlplane.KIND, wanted)
    async with serving(plane, operators):
        await eventually(is_ready(client, space), "it is Ready again", seconds=180)
    again = await client.get(SECRET, Key(space, "keystone-db-credentials"))
    assert again["data"] == password["data"]


async def test_passwords_are_deleted_with_the_data_when_the_policy_is_delete(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    await client.create(controlplane.KIND, a_control_plane(space))
    async with serving(plane, OPERATORS):
        await eventually(is_ready(client, space), "the control plane is Ready", seconds=180)
        patch = {"spec": {"deletionPolicy": "Delete"}}
        await client.patch(controlplane.KIND, Key(space, "lab"), patch)

        async def owned() -> bool:
            found = await client.get(SECRET, Key(space, "keystone-db-credentials"))
            return bool(found["metadata"].get("ownerReferences"))

        await eventually(owned, "the password belongs to the control plane")


async def test_a_changed_admin_password_is_handed_out_when_keystone_has_it(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    wanted = a_control_plane(space)
    wanted["spec"]["services"]["placement"] = {"enabled": True}
    await client.create(controlplane.KIND, wanted)
    clouds = Key(space, "k-orc-clouds-yaml")
    async with serving(plane, ("c5c3", "keystone", "placement", "credentials")) as running:
        await eventually(is_ready(client, space), "the control plane is Ready", seconds=180)
        await eventually(running.rests, "the operators rest")
        mark = plane.mark()
        key = Key(space, "keystone-admin-credentials")
        await client.patch(SECRET, key, {"stringData": {"password": "second"}})

        async def handed_out() -> bool:
            return "password: second" in (
                secret.text(await client.get(SECRET, clouds), FILE) or ""
            )

        await eventually(handed_out, "K-ORC has the new password", seconds=180)
        await eventually(is_ready(client, space), "the control plane is Ready", seconds=180)
        written = [
            each.object.name
            for each in plane.audit(since=mark, agent="service-operator")
            if each.verb in ("create", "patch", "update") and each.object.namespace == space
        ]
    steps = [each for each in written if each.startswith(("keystone-", "k-orc-"))]
    job = next(each for each in steps if each.startswith("keystone-bootstrap-"))
    login = "keystone-admin-login"
    ordered = [each for each in steps if each in (job, login, clouds.name)]
    assert ordered == [login, job, login, clouds.name]


async def test_the_password_of_the_database_server_is_taken_over_and_kept(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    """The operator of MariaDB generated it in control planes of older releases."""
    key = Key(space, "mariadb-root")
    await client.create(controlplane.KIND, a_control_plane(space))
    async with serving(plane, OPERATORS):
        await eventually(is_ready(client, space), "the control plane is Ready", seconds=180)
    created = await client.get(SECRET, key)
    server = await client.get(mariadb.MARIADB, Key(space, "mariadb"))
    marks = dict.fromkeys(created["metadata"]["annotations"])
    labels = dict.fromkeys(created["metadata"]["labels"])
    owner = [owner_reference(server)]
    theirs = {"annotations": marks, "labels": labels, "ownerReferences": owner}
    await client.patch(SECRET, key, {"metadata": theirs})
    async with serving(plane, OPERATORS):

        async def adopted() -> bool:
            found = await client.get(SECRET, key)
            return not found["metadata"].get("ownerReferences")

        await eventually(adopted, "it does not go with the server")
        await eventually(is_ready(client, space), "the control plane is Ready", seconds=180)
        found = await client.get(SECRET, key)
        assert found["data"] == created["data"]
        assert found["metadata"]["labels"] == created["metadata"]["labels"]
        await client.delete(SECRET, key)

        async def lost() -> bool:
            reported = (await status(client, space)).get("conditions", [])
            stalled = [c["reason"] for c in reported if c["type"] == "Stalled"]
            return stalled == ["KeysLost"]

        await eventually(lost, "a person has to act")
        assert await read(client, SECRET, key) is None
        meta = {"name": key.name, "namespace": space}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": created["data"]}
        await client.create(SECRET, body)
        await eventually(is_ready(client, space), "the control plane is Ready", seconds=180)
