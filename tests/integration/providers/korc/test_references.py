"""Objects need each other: they wait for what is missing and hold what they use."""

from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.runtime.meta import Kind
from tests.support.identity import Identity
from tests.support.operating import read


async def finalizers(user: Identity, kind: Kind, name: str) -> set[str]:
    found = await read(user.client, kind, user.key(name)) or {"metadata": {}}
    return set(found["metadata"].get("finalizers") or ())


async def test_missing_references_are_named_and_waited_for(served: Identity) -> None:
    await served.managed(korc.USER, "one", domainRef="home", defaultProjectRef="desk")
    report = await served.reports(korc.USER, "one", "Waiting for Domain/home to be created")
    assert "Waiting for Project/desk to be created" in report.message
    assert (report.available, report.progressing, report.reason) == (
        "False",
        "True",
        "Progressing",
    )

    await served.managed(korc.DOMAIN, "home", name=served.unique("home"))
    await served.reports(korc.USER, "one", "Waiting for Project/desk to be created")
    await served.managed(korc.PROJECT, "desk", domainRef="home")

    report = await served.available(korc.USER, "one")
    assert report.resource is not None
    assert report.resource["domainID"] == (await served.report(korc.DOMAIN, "home")).id


async def test_reference_that_is_not_ready_is_waited_for(served: Identity) -> None:
    name = served.unique("home")
    await served.imported(korc.DOMAIN, "home", name=name)
    await served.managed(korc.GROUP, "team", domainRef="home")
    await served.reports(korc.GROUP, "team", "Waiting for Domain/home to be ready")

    await served.make("domains", name=name)

    await served.available(korc.GROUP, "team")


async def test_dependencies_are_held_and_deleted_last(served: Identity) -> None:
    await served.managed(korc.DOMAIN, "home", name=served.unique("home"), enabled=False)
    await served.managed(korc.GROUP, "team", domainRef="home")
    await served.available(korc.GROUP, "team")
    home = (await served.report(korc.DOMAIN, "home")).id
    held = await finalizers(served, korc.DOMAIN, "home")
    assert held == {"openstack.k-orc.cloud/domain", "openstack.k-orc.cloud/group"}

    await served.delete(korc.DOMAIN, "home")
    waits = "Waiting for finalizer openstack.k-orc.cloud/group to be removed"
    report = await served.reports(korc.DOMAIN, "home", waits)
    assert (report.available, report.reason) == ("True", "Progressing")
    assert await served.get(f"/domains/{home}") is not None

    await served.delete(korc.GROUP, "team")
    await served.gone(korc.GROUP, "team")
    await served.gone(korc.DOMAIN, "home")
    assert await served.get(f"/domains/{home}") is None


async def test_nothing_is_created_in_a_domain_that_is_being_deleted(served: Identity) -> None:
    await served.managed(korc.DOMAIN, "home", name=served.unique("home"), enabled=False)
    await served.managed(korc.GROUP, "team", domainRef="home")
    await served.available(korc.GROUP, "team")
    await served.delete(korc.DOMAIN, "home")
    await served.reports(korc.DOMAIN, "home", "Waiting for finalizer")

    await served.managed(korc.PROJECT, "late", domainRef="home")

    await served.reports(korc.PROJECT, "late", "Waiting for Domain/home to be created")


async def test_objects_deleted_at_once_are_deleted_in_order(served: Identity) -> None:
    await served.secret("password", {"password": "some password"})
    await served.secret("value", {"value": "some secret"})
    await served.managed(korc.DOMAIN, "home", name=served.unique("home"))
    await served.managed(korc.PROJECT, "desk", domainRef="home")
    await served.managed(korc.ROLE, "duty", name=served.unique("duty"))
    await served.managed(
        korc.USER, "one", domainRef="home", defaultProjectRef="desk", passwordRef="password"
    )
    await served.managed(
        korc.ROLE_ASSIGNMENT, "one", roleRef="duty", userRef="one", projectRef="desk"
    )
    await served.managed(
        korc.APPLICATION_CREDENTIAL, "one", userRef="one", secretRef="value", roleRefs=["duty"]
    )
    await served.available(korc.APPLICATION_CREDENTIAL, "one")
    home = (await served.report(korc.DOMAIN, "home")).id
    await served.change(korc.DOMAIN, "home", enabled=False)
    await served.available(korc.DOMAIN, "home")

    everything: list[tuple[Kind, str]] = [
        (SECRET, "openstack-clouds"),
        (SECRET, "password"),
        (korc.DOMAIN, "home"),
        (korc.PROJECT, "desk"),
        (korc.ROLE, "duty"),
        (korc.USER, "one"),
        (korc.ROLE_ASSIGNMENT, "one"),
        (korc.APPLICATION_CREDENTIAL, "one"),
    ]
    for kind, name in everything:
        await served.delete(kind, name)
    for kind, name in reversed(everything):
        await served.gone(kind, name)

    assert await served.get(f"/domains/{home}") is None
    assert await served.named("roles", served.unique("duty")) == []


async def test_object_that_waits_for_a_reference_is_deleted_at_once(served: Identity) -> None:
    name = served.unique("namesake")
    theirs = await served.make("projects", name=name, domain_id="default")
    await served.managed(korc.PROJECT, "one", name=name, domainRef="missing")
    await served.reports(korc.PROJECT, "one", "Waiting for Domain/missing")

    await served.delete(korc.PROJECT, "one")
    await served.gone(korc.PROJECT, "one")

    assert await served.get(f"/projects/{theirs['id']}") is not None


async def test_password_is_waited_for_by_secret_and_by_key(served: Identity) -> None:
    await served.managed(korc.USER, "one", name=served.unique("one"), passwordRef="password")
    await served.reports(korc.USER, "one", "Waiting for Secret/password to be created")
    await served.secret("password", {"other": "x"})
    await served.reports(korc.USER, "one", 'Secret/password to contain the key "password"')
    await served.secret("password", {"password": "the password"})

    report = await served.available(korc.USER, "one")
    assert await served.logs_in(report.id, "the password")
