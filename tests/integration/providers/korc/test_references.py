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
    told = await served.says(korc.USER, "one", "Waiting for Domain/home to be created")
    assert "Waiting for Project/desk to be created" in told.message
    assert (told.available, told.progressing, told.reason) == ("False", "True", "Progressing")

    await served.managed(korc.DOMAIN, "home", name=served.unique("home"))
    await served.says(korc.USER, "one", "Waiting for Project/desk to be created")
    await served.managed(korc.PROJECT, "desk", domainRef="home")

    told = await served.available(korc.USER, "one")
    assert told.resource is not None
    assert told.resource["domainID"] == (await served.told(korc.DOMAIN, "home")).id


async def test_reference_that_is_not_ready_is_waited_for(served: Identity) -> None:
    name = served.unique("home")
    await served.imported(korc.DOMAIN, "home", name=name)
    await served.managed(korc.GROUP, "team", domainRef="home")
    await served.says(korc.GROUP, "team", "Waiting for Domain/home to be ready")

    await served.make("domains", name=name)

    await served.available(korc.GROUP, "team")


async def test_what_is_used_is_held_and_deleted_last(served: Identity) -> None:
    await served.managed(korc.DOMAIN, "home", name=served.unique("home"), enabled=False)
    await served.managed(korc.GROUP, "team", domainRef="home")
    await served.available(korc.GROUP, "team")
    home = (await served.told(korc.DOMAIN, "home")).id
    held = await finalizers(served, korc.DOMAIN, "home")
    assert held == {"openstack.k-orc.cloud/domain", "openstack.k-orc.cloud/group"}

    await served.delete(korc.DOMAIN, "home")
    waits = "Waiting for finalizer openstack.k-orc.cloud/group to be removed"
    told = await served.says(korc.DOMAIN, "home", waits)
    assert (told.available, told.reason) == ("True", "Progressing")
    assert await served.get(f"/domains/{home}") is not None

    await served.delete(korc.GROUP, "team")
    await served.gone(korc.GROUP, "team")
    await served.gone(korc.DOMAIN, "home")
    assert await served.get(f"/domains/{home}") is None


async def test_object_is_not_made_in_a_domain_that_is_to_be_deleted(served: Identity) -> None:
    await served.managed(korc.DOMAIN, "home", name=served.unique("home"), enabled=False)
    await served.managed(korc.GROUP, "team", domainRef="home")
    await served.available(korc.GROUP, "team")
    await served.delete(korc.DOMAIN, "home")
    await served.says(korc.DOMAIN, "home", "Waiting for finalizer")

    await served.managed(korc.PROJECT, "late", domainRef="home")

    await served.says(korc.PROJECT, "late", "Waiting for Domain/home to be created")


async def test_everything_deleted_at_once_goes_in_the_right_order(served: Identity) -> None:
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
    home = (await served.told(korc.DOMAIN, "home")).id
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


async def test_object_that_waits_for_a_reference_goes_at_once(served: Identity) -> None:
    name = served.unique("namesake")
    theirs = await served.make("projects", name=name, domain_id="default")
    await served.managed(korc.PROJECT, "one", name=name, domainRef="missing")
    await served.says(korc.PROJECT, "one", "Waiting for Domain/missing")

    await served.delete(korc.PROJECT, "one")
    await served.gone(korc.PROJECT, "one")

    assert await served.get(f"/projects/{theirs['id']}") is not None


async def test_password_is_waited_for_by_secret_and_by_key(served: Identity) -> None:
    await served.managed(korc.USER, "one", name=served.unique("one"), passwordRef="password")
    await served.says(korc.USER, "one", "Waiting for Secret/password to be created")
    await served.secret("password", {"other": "x"})
    await served.says(korc.USER, "one", 'Secret/password to contain the key "password"')
    await served.secret("password", {"password": "the password"})

    told = await served.available(korc.USER, "one")
    assert await served.logs_in(told.id, "the password")
