"""Logins that do not work, and Keystones that do not answer."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.runtime import certificates
from cobaltlab import pki
from cobaltlab.korc import keystone
from tests.support.control_plane import ControlPlaneHarness
from tests.support.identity import Identity, counted, provider
from tests.support.operating import eventually
from tests.support.providers import RunningProviders, running_providers
from tests.support.rights import as_provider


async def test_missing_clouds_yaml_is_waited_for(
    user: Identity, running: RunningProviders
) -> None:
    await user.managed(korc.ROLE, "one", name=user.unique("one"))
    report = await user.reports(
        korc.ROLE, "one", "Waiting for Secret/openstack-clouds to be created"
    )
    assert (report.progressing, report.reason) == ("True", "Progressing")

    await user.credentials()

    await user.available(korc.ROLE, "one")


async def test_invalid_clouds_yaml_is_reported(user: Identity, running: RunningProviders) -> None:
    texts = {
        "has no cloud 'openstack'": "clouds: {other: {}}",
        "is not YAML": "clouds: [hunter2",
        "has no auth.auth_url": "clouds: {openstack: {auth: {password: hunter2}}}",
        "has no auth.password": "clouds: {openstack: {auth: {auth_url: 'http://x', username: u}}}",
        "is not supported": "clouds: {openstack: {auth_type: v3oidc, auth: {auth_url: 'http://x'}}}",
    }
    await user.managed(korc.ROLE, "one", name=user.unique("one"))
    for message, text in texts.items():
        await user.credentials(text)
        report = await user.reports(korc.ROLE, "one", message, reason="TransientError")
        assert "hunter2" not in report.message

    await user.credentials()

    await user.available(korc.ROLE, "one")


async def test_wrong_password_is_retried_with_a_new_secret(
    user: Identity, running: RunningProviders
) -> None:
    wrong = user.server.admin()
    wrong["auth"] |= {"password": "wrong and secret"}
    await user.credentials(user.server.clouds_yaml(openstack=wrong))
    await user.managed(korc.ROLE, "one", name=user.unique("one"))
    report = await user.reports(
        korc.ROLE, "one", "refuses the credentials", reason="TransientError"
    )
    assert (report.available, report.progressing) == ("False", "True")
    assert "wrong and secret" not in report.message

    await user.credentials()

    await user.available(korc.ROLE, "one")


async def test_expired_application_credential_is_replaced(
    user: Identity, running: RunningProviders
) -> None:
    me = await user.admin.whoami()
    soon = (datetime.now(UTC) + timedelta(seconds=5)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    created = [
        await a_credential(user, me.user_id, "short", expires_at=soon),
        await a_credential(user, me.user_id, "long", unrestricted=True),
    ]

    async def expired() -> bool:
        return not await user.accepts_credential(created[0]["id"], "short")

    await eventually(expired, "the credential has expired")
    await user.credentials(credential_clouds(user, created[0], "short"))
    await user.managed(korc.ROLE, "one", name=user.unique("one"))
    await user.reports(korc.ROLE, "one", "refuses the credentials", reason="TransientError")

    await user.credentials(credential_clouds(user, created[1], "long"))

    await user.available(korc.ROLE, "one")


async def a_credential(user: Identity, owner: str, secret: str, **more: Any) -> dict[str, Any]:
    body = {"name": user.unique(secret), "secret": secret, **more}
    answer = await user.admin.request(
        "POST", f"/users/{owner}/application_credentials", body={"application_credential": body}
    )
    return dict(answer["application_credential"])


def credential_clouds(user: Identity, credential: dict[str, Any], secret: str) -> str:
    auth = {
        "auth_url": user.server.url.removesuffix("/v3"),
        "application_credential_id": credential["id"],
        "application_credential_secret": secret,
    }
    cloud = {"auth_type": "v3applicationcredential", "auth": auth}
    return user.server.clouds_yaml(openstack=cloud)


async def test_revoked_token_is_replaced_within_the_reconcile(
    control_plane: ControlPlaneHarness, user: Identity
) -> None:
    calls: list[keystone.Request] = []
    await user.credentials()
    transport = as_provider(control_plane, "korc")
    async with running_providers(transport, provider(user.namespace, connect=counted(calls))):
        await user.managed(korc.ROLE, "one", name=user.unique("one"))
        await user.available(korc.ROLE, "one")
        token = calls[-1].token
        user.server.revoke(token)

        await user.managed(korc.ROLE, "two", name=user.unique("two"))

        report = await user.available(korc.ROLE, "two")
        assert report.id
        assert calls[-1].token != token


async def test_unreachable_keystone_is_retried(served: Identity) -> None:
    await served.managed(korc.ROLE, "old", name=served.unique("old"))
    old = await served.available(korc.ROLE, "old")
    served.server.stop()
    try:
        await served.managed(korc.ROLE, "new", name=served.unique("new"))
        await served.reports(korc.ROLE, "new", "does not respond", reason="TransientError")
        await served.change(korc.ROLE, "old", description="meanwhile")
        report = await served.reports(
            korc.ROLE, "old", "does not respond", reason="TransientError"
        )
        assert (report.available, report.id) == ("Unknown", old.id)
        await served.delete(korc.ROLE, "old")
    finally:
        served.server.start()

    await served.available(korc.ROLE, "new")
    await served.gone(korc.ROLE, "old")
    assert await served.get(f"/roles/{old.id}") is None


@asynccontextmanager
async def tls_front(port: int, keys: pki.KeyFiles) -> AsyncIterator[int]:
    """Keystone behind TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(keys.certificate, keys.key)
    tasks: set[asyncio.Task[None]] = set()

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            target.write(data)
            await target.drain()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        up = asyncio.ensure_future(copy(reader, inner_writer))
        tasks.add(up)
        try:
            await copy(inner_reader, writer)
        finally:
            up.cancel()
            inner_writer.close()
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_tls_with_a_private_ca(
    user: Identity, running: RunningProviders, tmp_path: Path
) -> None:
    ours, others = pki.Pki(tmp_path / "ours"), pki.Pki(tmp_path / "others")
    subject = certificates.Subject("keystone", hosts=("127.0.0.1",))
    keys = ours.certificate("keystone", subject)
    port = int(user.server.url.split(":")[2].split("/")[0])
    async with tls_front(port, keys) as front:
        cloud = user.server.admin()
        cloud["auth"] |= {"auth_url": f"https://127.0.0.1:{front}/v3"}
        text = user.server.clouds_yaml(openstack=cloud)
        wrong = others.authority().certificate.read_text()
        await user.secret("openstack-clouds", {"clouds.yaml": text, "cacert": wrong})
        await user.managed(korc.ROLE, "one", name=user.unique("one"))
        await user.reports(korc.ROLE, "one", "does not respond", reason="TransientError")
        await user.secret("openstack-clouds", {"clouds.yaml": text, "cacert": "no certificate"})
        await user.reports(korc.ROLE, "one", "holds no certificate", reason="TransientError")

        right = ours.authority().certificate.read_text()
        await user.secret("openstack-clouds", {"clouds.yaml": text, "cacert": right})

        await user.available(korc.ROLE, "one")


async def test_secret_with_clouds_yaml_stays_while_it_is_needed(served: Identity) -> None:
    await served.managed(korc.ROLE, "one", name=served.unique("one"))
    report = await served.available(korc.ROLE, "one")
    await served.delete(SECRET, "openstack-clouds")
    await served.managed(korc.GROUP, "late", name=served.unique("late"))
    await served.reports(korc.GROUP, "late", "Waiting for Secret/openstack-clouds to be created")

    await served.delete(korc.ROLE, "one")

    await served.gone(korc.ROLE, "one")
    await served.gone(SECRET, "openstack-clouds")
    assert await served.get(f"/roles/{report.id}") is None
    await served.credentials()
    await served.available(korc.GROUP, "late")
