"""Keystone from nothing to Ready: real API server and controllers, pods simulated by KWOK."""

from typing import Any

from cobaltcore.api import keystone
from cobaltcore.api.foreign import mariadb
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, DEPLOYMENT, JOB, SECRET
from cobaltcore.engine.desired import secret
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually
from tests.support.services import serving

AGENT = "service-operator"


def a_secret(name: str, namespace: str, **data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "stringData": data,
    }


def a_keystone(namespace: str, **spec: Any) -> Object:
    return {
        "apiVersion": keystone.KIND.api_version,
        "kind": "Keystone",
        "metadata": {"name": "keystone", "namespace": namespace},
        "spec": {
            "replicas": 2,
            "image": {"repository": "ghcr.io/c5c3/keystone", "tag": "28.0.0"},
            "database": {
                "clusterRef": {"name": "mariadb"},
                "database": "keystone",
                "secretRef": {"name": "keystone-db"},
            },
            "bootstrap": {"adminPasswordSecretRef": {"name": "keystone-admin"}},
            **spec,
        },
    }


async def inputs(client: Client, namespace: str) -> None:
    cluster = {
        "apiVersion": mariadb.MARIADB.api_version,
        "kind": "MariaDB",
        "metadata": {"name": "mariadb", "namespace": namespace},
        "spec": {"replicas": 1},
    }
    await client.create(mariadb.MARIADB, cluster)
    await client.create(SECRET, a_secret("keystone-db", namespace, username="k", password="p/+="))
    await client.create(SECRET, a_secret("keystone-admin", namespace, password="open-sesame"))


async def conditions(client: Client, namespace: str) -> dict[str, tuple[str, str, str]]:
    found = await client.get(keystone.KIND, Key(namespace, "keystone"))
    listed = (found.get("status") or {}).get("conditions", [])
    return {c["type"]: (c["status"], c["reason"], c.get("message", "")) for c in listed}


def is_ready(client: Client, namespace: str) -> Any:
    async def check() -> bool:
        found = await client.get(keystone.KIND, Key(namespace, "keystone"))
        status = found.get("status") or {}
        ready = [c["status"] for c in status.get("conditions", []) if c["type"] == "Ready"]
        return (
            ready == ["True"] and status["observedGeneration"] == found["metadata"]["generation"]
        )

    return check


async def test_keystone_comes_up_and_then_rests(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    await inputs(client, space)
    await client.create(keystone.KIND, a_keystone(space))
    async with serving(plane, ["keystone"]) as running:
        await eventually(is_ready(client, space), "Keystone is Ready", seconds=120)
        reported = await conditions(client, space)
        assert list(reported) == [
            "Ready", "DependenciesReady", "SecretsReady", "ConfigReady", "DatabaseReady",
            "FernetKeysReady", "CredentialKeysReady", "BootstrapReady", "DeploymentReady",
            "APIReady",
        ]  # fmt: skip
        found = await client.get(keystone.KIND, Key(space, "keystone"))
        address = f"http://keystone.{space}.svc.cluster.local:5000"
        assert found["status"]["endpoint"] == address
        await eventually(running.rests, "the operator rests")
        mark = plane.mark()
        for each in running.controllers:
            each.queue.add(Key(space, "keystone"))
        await eventually(running.rests, "the reconciles are done")
        assert plane.audit(since=mark, agent=AGENT) == []


async def test_what_is_missing_is_named(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    await client.create(keystone.KIND, a_keystone(space))
    async with serving(plane, ["keystone"]):

        async def named() -> bool:
            reported = await conditions(client, space)
            return (
                "Secret 'keystone-db' (database login) does not exist"
                in reported.get("Ready", "   ")[2]
            )

        await eventually(named, "the message names the Secret")
        await inputs(client, space)
        await eventually(is_ready(client, space), "Keystone is Ready", seconds=120)


async def test_secrets_are_in_secrets_only(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    await inputs(client, space)
    await client.create(keystone.KIND, a_keystone(space))
    async with serving(plane, ["keystone"]):
        await eventually(is_ready(client, space), "Keystone is Ready", seconds=120)
    text = plane.kubectl("get", "configmaps,deployments,jobs,events", "-n", space, "-o", "yaml")
    text += plane.kubectl("get", "keystones", "-n", space, "-o", "yaml")
    for private in ("p/+=", "p%2F%2B%3D", "open-sesame"):
        assert private not in text


async def test_a_changed_option_is_a_new_config_map_and_a_rollout(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    await inputs(client, space)
    await client.create(keystone.KIND, a_keystone(space))
    async with serving(plane, ["keystone"]):
        await eventually(is_ready(client, space), "Keystone is Ready", seconds=120)
        before = await config_name(client, space)
        patch = {"spec": {"extraConfig": {"token": {"expiration": "60"}}}}
        await client.patch(keystone.KIND, Key(space, "keystone"), patch)
        await eventually(is_ready(client, space), "Keystone is Ready again", seconds=120)
        after = await config_name(client, space)
        assert before != after
        found = await client.get(CONFIG_MAP, Key(space, after))
        assert "expiration = 60" in found["data"]["keystone.conf"]
        assert found["immutable"] is True
        assert await client.get(CONFIG_MAP, Key(space, before)), "the last good one is kept"


async def test_a_changed_password_bootstraps_again_and_leaves_the_pods_alone(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    await inputs(client, space)
    await client.create(keystone.KIND, a_keystone(space))
    async with serving(plane, ["keystone"]):
        await eventually(is_ready(client, space), "Keystone is Ready", seconds=120)
        before = await client.get(DEPLOYMENT, Key(space, "keystone-api"))
        jobs = await job_names(client, space, "bootstrap")
        await client.patch(
            SECRET, Key(space, "keystone-admin"), {"stringData": {"password": "two"}}
        )

        async def again() -> bool:
            return await job_names(client, space, "bootstrap") != jobs

        await eventually(again, "another bootstrap Job")

        async def in_use() -> bool:
            login = await client.get(SECRET, Key(space, "keystone-admin-login"))
            return secret.text(login, "password") == "two"

        await eventually(in_use, "Keystone has the password", seconds=120)
        await eventually(is_ready(client, space), "Keystone is Ready again", seconds=120)
        after = await client.get(DEPLOYMENT, Key(space, "keystone-api"))
        assert after["metadata"]["generation"] == before["metadata"]["generation"]


async def config_name(client: Client, namespace: str) -> str:
    found = await client.get(DEPLOYMENT, Key(namespace, "keystone-api"))
    volumes = found["spec"]["template"]["spec"]["volumes"]
    return str(next(v["configMap"]["name"] for v in volumes if v["name"] == "config"))


async def job_names(client: Client, namespace: str, component: str) -> list[str]:
    names = []
    async for page, _ in client.list_pages(JOB):
        names += [
            each["metadata"]["name"]
            for each in page
            if each["metadata"]["namespace"] == namespace and component in each["metadata"]["name"]
        ]
    return names


async def test_a_restart_fetches_only_secrets_of_the_user(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    await inputs(client, space)
    await client.create(keystone.KIND, a_keystone(space))
    async with serving(plane, ["keystone"]) as running:
        await eventually(is_ready(client, space), "Keystone is Ready", seconds=120)
        await eventually(running.rests, "the operator rests")
    mark = plane.mark()
    async with serving(plane, ["keystone"]) as running:
        await eventually(running.rests, "the operator rests after a restart")
    requests = plane.audit(since=mark, agent=AGENT)
    own = [each for each in requests if each.object.namespace == space]
    fetched = [each.object.name for each in own if each.verb == "get"]
    assert sorted(fetched) == ["keystone-admin", "keystone-db"]


async def test_keys_rotate_when_it_is_time(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    await inputs(client, space)
    await client.create(keystone.KIND, a_keystone(space))
    secrets = ("keystone-fernet-keys", "keystone-credential-keys")
    async with serving(plane, ["keystone"]) as running:
        await eventually(is_ready(client, space), "Keystone is Ready", seconds=120)
        before = [await client.get(SECRET, Key(space, name)) for name in secrets]
        found = await client.get(keystone.KIND, Key(space, "keystone"))
        created = before[0]["metadata"]["annotations"]["c5c3.io/rotated-at"]
        assert found["status"]["lastKeyRotation"] == created
        past = {"metadata": {"annotations": {"c5c3.io/rotated-at": "2026-01-01T00:00:00Z"}}}
        for name in secrets:
            await client.patch(SECRET, Key(space, name), past)

        async def rotated() -> bool:
            after = [(await client.get(SECRET, Key(space, name)))["data"] for name in secrets]
            return all(
                set(new) == {"0", "1", "2"}
                and (new["1"], new["2"]) == (old["data"]["1"], old["data"]["0"])
                for old, new in zip(before, after, strict=True)
            )

        await eventually(rotated, "the staged keys are promoted", seconds=120)
        await eventually(running.rests, "the operator rests")
        after = await client.get(SECRET, Key(space, secrets[0]))
        found = await client.get(keystone.KIND, Key(space, "keystone"))
        at = after["metadata"]["annotations"]["c5c3.io/rotated-at"]
        assert found["status"]["lastKeyRotation"] == at >= created
        assert await is_ready(client, space)()


async def test_keys_that_are_lost_block_until_someone_decides(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    await inputs(client, space)
    await client.create(keystone.KIND, a_keystone(space))
    name = "keystone-fernet-keys"
    async with serving(plane, ["keystone"]):
        await eventually(is_ready(client, space), "Keystone is Ready", seconds=120)
        await client.delete(SECRET, Key(space, name))

        async def blocked() -> bool:
            reported = await conditions(client, space)
            return reported.get("Stalled", ("", "", ""))[:2] == ("True", "KeysLost")

        await eventually(blocked, "a person has to act")
        meta = {"name": name, "namespace": space}
        await client.create(SECRET, {"apiVersion": "v1", "kind": "Secret", "metadata": meta})
        await eventually(is_ready(client, space), "Keystone is Ready with new keys", seconds=120)
        assert set((await client.get(SECRET, Key(space, name)))["data"]) == {"0", "1"}
