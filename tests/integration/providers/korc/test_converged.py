"""Converged objects make no request, also after a restart of the provider."""

from cobaltcore.api.foreign import korc
from cobaltlab.korc import keystone
from tests.support.control_plane import ControlPlaneHarness
from tests.support.identity import Identity, counted, provider
from tests.support.operating import eventually
from tests.support.providers import running_providers
from tests.support.rights import as_provider


async def test_converged_objects_need_no_requests(
    control_plane: ControlPlaneHarness, user: Identity
) -> None:
    await user.credentials()
    await user.secret("password", {"password": "a password"})
    async with running_providers(as_provider(control_plane, "korc"), provider(user.namespace)):
        await user.managed(korc.DOMAIN, "home", name=user.unique("home"))
        await user.managed(korc.USER, "one", domainRef="home", passwordRef="password")
        await user.imported(korc.ROLE, "admin", name="admin")
        await user.available(korc.USER, "one")
        await user.available(korc.ROLE, "admin")

    calls: list[keystone.Request] = []
    start = control_plane.mark()
    transport = as_provider(control_plane, "korc-again")
    async with running_providers(
        transport, provider(user.namespace, connect=counted(calls))
    ) as running:
        await eventually(running.is_idle, "at rest")
        meta = {"metadata": {"labels": {"looked": "at"}}}
        await user.client.patch(korc.DOMAIN, user.key("home"), meta)
        await eventually(running.is_idle, "at rest again")

    requests = control_plane.audit(since=start, agent="korc-again")
    assert calls == []
    assert {each.verb for each in requests if each.object.resource} == {"watch"}


async def test_a_changed_spec_costs_few_requests(
    control_plane: ControlPlaneHarness, user: Identity
) -> None:
    calls: list[keystone.Request] = []
    await user.credentials()
    transport = as_provider(control_plane, "korc")
    async with running_providers(
        transport, provider(user.namespace, connect=counted(calls))
    ) as running:
        await user.managed(korc.ROLE, "one", name=user.unique("one"))
        await user.available(korc.ROLE, "one")
        await eventually(running.is_idle, "at rest")
        assert [each.method for each in calls] == ["POST", "GET", "POST"], "login, look, make"
        calls.clear()

        await user.change(korc.ROLE, "one", description="new")
        await user.available(korc.ROLE, "one")
        await eventually(running.is_idle, "at rest again")

    assert [each.method for each in calls] == ["GET", "PATCH"]
