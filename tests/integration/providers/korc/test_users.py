"""Passwords and application credentials."""

from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltlab.korc import keystone
from tests.support.control_plane import ControlPlaneHarness
from tests.support.identity import Identity, counted, provider
from tests.support.providers import running_providers
from tests.support.rights import as_provider


async def a_user(served: Identity, **more: object) -> str:
    await served.secret("password", {"password": "first password"})
    await served.managed(
        korc.USER, "one", name=served.unique("one"), passwordRef="password", **more
    )
    return (await served.available(korc.USER, "one")).id


async def a_member(served: Identity) -> str:
    """A user that may make application credentials in its project."""
    await served.managed(korc.PROJECT, "desk", name=served.unique("desk"))
    user = await a_user(served, defaultProjectRef="desk")
    await served.imported(korc.ROLE, "member", name="member")
    await served.managed(
        korc.ROLE_ASSIGNMENT, "one", roleRef="member", userRef="one", projectRef="desk"
    )
    await served.available(korc.ROLE_ASSIGNMENT, "one")
    return user


async def test_changed_password_takes_effect(served: Identity) -> None:
    user = await a_user(served)

    await served.secret("password", {"password": "second password"})

    async def changed() -> bool:
        return await served.logs_in(user, "second password")

    await served.eventually(changed, korc.USER, "one", "changed")
    assert not await served.logs_in(user, "first password")


async def test_password_of_another_secret_takes_effect(served: Identity) -> None:
    user = await a_user(served)
    await served.secret("password-v2", {"password": "second password"})

    await served.change(korc.USER, "one", passwordRef="password-v2")

    report = await served.available(korc.USER, "one")
    assert report.resource is not None
    assert report.resource["appliedPasswordRef"] == "password-v2"
    assert await served.logs_in(user, "second password")


async def test_secret_that_changes_but_for_its_password_changes_nothing(served: Identity) -> None:
    user = await a_user(served)
    before = served.server.password_hash(user)

    key = served.key("password")
    await served.client.patch(SECRET, key, {"metadata": {"labels": {"some": "label"}}})
    await served.change(korc.USER, "one", description="looked at")
    await served.available(korc.USER, "one")

    assert await served.logs_in(user, "first password")
    assert served.server.password_hash(user) == before


async def test_resync_reverts_a_changed_password(served: Identity) -> None:
    user = await a_user(served, spec={"resyncPeriod": "1s"})

    await served.alter(f"/users/{user}", password="somebody else's")

    async def right() -> bool:
        return await served.logs_in(user, "first password")

    await served.eventually(right, korc.USER, "one", "set right")


async def test_user_outlives_the_secret_of_its_password(served: Identity) -> None:
    await a_user(served)
    await served.delete(SECRET, "password")

    await served.change(korc.USER, "one", description="still here")

    report = await served.available(korc.USER, "one")
    assert report.resource is not None
    assert report.resource["description"] == "still here"


async def test_application_credential_waits_for_its_users_role(served: Identity) -> None:
    await served.managed(korc.PROJECT, "desk", name=served.unique("desk"))
    await a_user(served, defaultProjectRef="desk")
    await served.imported(korc.ROLE, "member", name="member")
    await served.secret("value", {"value": "a secret"})
    await served.managed(korc.APPLICATION_CREDENTIAL, "one", userRef="one", secretRef="value")
    await served.reports(
        korc.APPLICATION_CREDENTIAL, "one", "refuses the credentials", reason="TransientError"
    )

    await served.managed(
        korc.ROLE_ASSIGNMENT, "one", roleRef="member", userRef="one", projectRef="desk"
    )

    report = await served.available(korc.APPLICATION_CREDENTIAL, "one")
    assert await served.accepts_credential(report.id, "a secret")


async def test_application_credential_has_a_role_granted_after_its_users_last_login(
    served: Identity,
) -> None:
    user = await a_member(served)
    for name in ("first", "second"):
        await served.secret(name, {"value": f"the {name} secret"})
    await served.managed(korc.APPLICATION_CREDENTIAL, "first", userRef="one", secretRef="first")
    await served.available(korc.APPLICATION_CREDENTIAL, "first")
    extra = served.unique("extra")
    await served.managed(korc.ROLE, "extra", name=extra)
    await served.managed(
        korc.ROLE_ASSIGNMENT, "more", roleRef="extra", userRef="one", projectRef="desk"
    )
    await served.available(korc.ROLE_ASSIGNMENT, "more")

    await served.managed(korc.APPLICATION_CREDENTIAL, "second", userRef="one", secretRef="second")

    report = await served.available(korc.APPLICATION_CREDENTIAL, "second")
    found = await served.get(f"/users/{user}/application_credentials/{report.id}") or {}
    assert extra in {each["name"] for each in found["roles"]}


async def test_application_credential_of_a_user_without_password_is_reported(
    served: Identity,
) -> None:
    await served.managed(korc.USER, "one", name=served.unique("one"))
    await served.secret("value", {"value": "a secret"})

    await served.managed(korc.APPLICATION_CREDENTIAL, "one", userRef="one", secretRef="value")

    report = await served.reports(
        korc.APPLICATION_CREDENTIAL, "one", "lets only the user itself create"
    )
    assert report.reason == "TransientError"


async def test_application_credential_with_the_users_own_cloud(served: Identity) -> None:
    """As the real K-ORC needs it: clouds.yaml is of the user that the credential is for."""
    await served.imported(korc.USER, "admin", name="admin")
    await served.secret("value", {"value": "admin's secret"})
    name = served.unique("admin")

    await served.managed(
        korc.APPLICATION_CREDENTIAL, "admin", name=name, userRef="admin", secretRef="value"
    )

    report = await served.available(korc.APPLICATION_CREDENTIAL, "admin")
    assert await served.accepts_credential(report.id, "admin's secret")
    await served.imported(korc.APPLICATION_CREDENTIAL, "seen", userRef="admin", name=name)
    assert (await served.available(korc.APPLICATION_CREDENTIAL, "seen")).id == report.id


async def test_application_credential_with_another_secret_is_not_adopted(served: Identity) -> None:
    user = await a_member(served)
    await served.secret("value", {"value": "first secret"})
    await served.managed(
        korc.APPLICATION_CREDENTIAL,
        "first",
        name="same",
        userRef="one",
        secretRef="value",
        spec={"managedOptions": {"onDelete": "detach"}},
    )
    first = await served.available(korc.APPLICATION_CREDENTIAL, "first")
    await served.delete(korc.APPLICATION_CREDENTIAL, "first")
    await served.gone(korc.APPLICATION_CREDENTIAL, "first")

    await served.secret("other", {"value": "second secret"})
    await served.managed(
        korc.APPLICATION_CREDENTIAL, "second", name="same", userRef="one", secretRef="other"
    )

    report = await served.reports(korc.APPLICATION_CREDENTIAL, "second", "has another secret")
    assert report.reason == "InvalidConfiguration"
    assert await served.get(f"/users/{user}/application_credentials/{first.id}") is not None


async def test_application_credential_that_has_expired_already_is_refused(
    served: Identity,
) -> None:
    await a_member(served)
    await served.secret("value", {"value": "too late"})

    await served.managed(
        korc.APPLICATION_CREDENTIAL,
        "one",
        userRef="one",
        secretRef="value",
        expiresAt="2020-01-01T00:00:00Z",
    )

    report = await served.reports(korc.APPLICATION_CREDENTIAL, "one", "expires_at")
    assert "too late" not in report.message


async def test_application_credential_is_not_recreated_without_its_secret(
    served: Identity,
) -> None:
    user = await a_member(served)
    await served.secret("value", {"value": "the secret"})
    await served.managed(
        korc.APPLICATION_CREDENTIAL,
        "one",
        userRef="one",
        secretRef="value",
        spec={"resyncPeriod": "1s"},
    )
    before = await served.available(korc.APPLICATION_CREDENTIAL, "one")
    await served.delete(SECRET, "value")
    await served.destroy(f"/users/{user}/application_credentials/{before.id}")
    await served.reports(
        korc.APPLICATION_CREDENTIAL, "one", "Waiting for Secret/value to be created"
    )

    await served.secret("value", {"value": "the secret"})

    after = await served.available(korc.APPLICATION_CREDENTIAL, "one")
    assert after.id != before.id
    assert await served.accepts_credential(after.id, "the secret")


async def test_spec_that_changes_during_a_reconcile_is_not_missed(
    control_plane: ControlPlaneHarness, user: Identity
) -> None:
    async def meanwhile(call: keystone.Request) -> None:
        if call.method == "PATCH" and "password" in (call.body or {}).get("user", {}):
            await user.change(korc.USER, "one", description="meanwhile")

    await user.credentials()
    transport = as_provider(control_plane, "korc")
    async with running_providers(
        transport, provider(user.namespace, connect=counted([], before=meanwhile))
    ):
        id_ = await a_user(user)
        await user.secret("password", {"password": "second password"})

        async def noticed() -> bool:
            found = await user.get(f"/users/{id_}") or {}
            return found.get("description") == "meanwhile"

        await user.eventually(noticed, korc.USER, "one", "changed")
