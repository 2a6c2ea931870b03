"""All nine kinds against a real Keystone: create, update, delete."""

from typing import Any

from cobaltcore.api.foreign import korc
from tests.support.identity import Identity


async def test_domain_is_created_updated_and_deleted(served: Identity) -> None:
    name = served.unique("domain")
    await served.managed(korc.DOMAIN, "one", name=name, description="first")
    report = await served.available(korc.DOMAIN, "one")
    found = await served.get(f"/domains/{report.id}")
    assert found is not None
    assert (found["name"], found["description"], found["enabled"]) == (name, "first", True)
    assert report.resource == {"name": name, "description": "first", "enabled": True}

    await served.change(korc.DOMAIN, "one", description="second", enabled=False)
    await served.available(korc.DOMAIN, "one")
    found = await served.get(f"/domains/{report.id}")
    assert found is not None
    assert (found["description"], found["enabled"]) == ("second", False)

    await served.delete(korc.DOMAIN, "one")
    await served.gone(korc.DOMAIN, "one")
    assert await served.get(f"/domains/{report.id}") is None


async def test_project_in_a_domain_with_tags(served: Identity) -> None:
    domain = served.unique("domain")
    await served.managed(korc.DOMAIN, "home", name=domain, enabled=True)
    await served.managed(
        korc.PROJECT, "one", name="shared", domainRef="home", tags=["blue", "green"]
    )
    report = await served.available(korc.PROJECT, "one")
    home = (await served.report(korc.DOMAIN, "home")).id
    assert report.resource is not None
    assert report.resource["domainID"] == home

    await served.change(korc.PROJECT, "one", tags=["red"], enabled=False)
    await served.available(korc.PROJECT, "one")
    found = await served.get(f"/projects/{report.id}")
    assert found is not None
    assert (found["tags"], found["enabled"], found["domain_id"]) == (["red"], False, home)


async def test_role_and_group_are_created_updated_and_deleted(served: Identity) -> None:
    for kind, collection in ((korc.ROLE, "roles"), (korc.GROUP, "groups")):
        name = served.unique(collection)
        await served.managed(kind, "one", name=name)
        report = await served.available(kind, "one")
        await served.change(kind, "one", name=f"{name}-new", description="why")
        await served.available(kind, "one")
        found = await served.get(f"/{collection}/{report.id}")
        assert found is not None
        assert (found["name"], found["description"]) == (f"{name}-new", "why")
        await served.delete(kind, "one")
        await served.gone(kind, "one")
        assert await served.get(f"/{collection}/{report.id}") is None


async def test_resource_is_named_after_its_object_by_default(served: Identity) -> None:
    name = served.unique("by-default")
    await served.managed(korc.ROLE, name)
    report = await served.available(korc.ROLE, name)
    assert report.resource == {"name": name}


async def test_service_with_endpoints_enters_the_catalogue(served: Identity) -> None:
    name = served.unique("nova")
    await served.managed(korc.SERVICE, "nova", name=name, type="compute", enabled=True)
    for interface in ("public", "internal"):
        await served.managed(
            korc.ENDPOINT,
            f"nova-{interface}",
            serviceRef="nova",
            interface=interface,
            url=f"https://{interface}.example.com/v2.1",
        )
    service = (await served.available(korc.SERVICE, "nova")).id
    public = await served.available(korc.ENDPOINT, "nova-public")
    await served.available(korc.ENDPOINT, "nova-internal")
    assert public.resource is not None
    assert public.resource["serviceID"] == service

    await served.change(korc.ENDPOINT, "nova-public", url="https://new.example.com/v2.1")
    await served.available(korc.ENDPOINT, "nova-public")
    found = await served.get(f"/endpoints/{public.id}")
    assert found is not None
    assert found["url"] == "https://new.example.com/v2.1"

    await served.change(korc.SERVICE, "nova", type="compute-next", enabled=False)
    await served.available(korc.SERVICE, "nova")
    found = await served.get(f"/services/{service}")
    assert found is not None
    assert (found["type"], found["enabled"]) == ("compute-next", False)


async def a_service_user(served: Identity, name: str, *, password: str) -> Any:
    """A user with a project, a password and a role, as services have it."""
    await served.secret(f"{name}-password", {"password": password})
    await served.managed(korc.PROJECT, "service", name=served.unique("service"))
    await served.imported(korc.ROLE, "member", name="member")
    await served.managed(
        korc.USER,
        name,
        name=served.unique(name),
        defaultProjectRef="service",
        passwordRef=f"{name}-password",
    )
    await served.managed(
        korc.ROLE_ASSIGNMENT,
        f"{name}-member",
        roleRef="member",
        userRef=name,
        projectRef="service",
    )
    return await served.available(korc.USER, name)


async def test_user_with_password_role_and_application_credential(served: Identity) -> None:
    nova = await a_service_user(served, "nova", password="first password")
    assert nova.resource["appliedPasswordRef"] == "nova-password"
    assert await served.logs_in(nova.id, "first password")
    project = (await served.available(korc.PROJECT, "service")).id
    role = (await served.available(korc.ROLE, "member")).id
    assignment = await served.available(korc.ROLE_ASSIGNMENT, "nova-member")
    assert assignment.resource == {"roleID": role, "userID": nova.id, "projectID": project}

    await served.secret("nova-credential", {"value": "s3cret value"})
    await served.managed(
        korc.APPLICATION_CREDENTIAL,
        "nova",
        userRef="nova",
        secretRef="nova-credential",
        roleRefs=["member"],
        description="for nova",
        expiresAt="2099-12-31T23:59:59Z",
    )
    report = await served.available(korc.APPLICATION_CREDENTIAL, "nova")
    assert report.resource is not None
    assert report.resource["projectID"] == project
    assert report.resource["expiresAt"] == "2099-12-31T23:59:59Z"
    assert role in [each["id"] for each in report.resource["roles"]]
    assert await served.accepts_credential(report.id, "s3cret value")

    await served.delete(korc.APPLICATION_CREDENTIAL, "nova")
    await served.gone(korc.APPLICATION_CREDENTIAL, "nova")
    assert not await served.accepts_credential(report.id, "s3cret value")
    await served.delete(korc.ROLE_ASSIGNMENT, "nova-member")
    await served.gone(korc.ROLE_ASSIGNMENT, "nova-member")
    left = await served.admin.request("GET", f"/projects/{project}/users/{nova.id}/roles")
    assert left["roles"] == []


async def test_application_credential_with_access_rules(served: Identity) -> None:
    await a_service_user(served, "reader", password="reader's password")
    await served.managed(korc.SERVICE, "metering", name=served.unique("m"), type="metering")
    await served.secret("reader-credential", {"value": "rules rule"})
    await served.managed(
        korc.APPLICATION_CREDENTIAL,
        "reader",
        userRef="reader",
        secretRef="reader-credential",
        accessRules=[{"serviceRef": "metering", "method": "GET", "path": "/v2/**"}],
    )
    report = await served.available(korc.APPLICATION_CREDENTIAL, "reader")
    assert report.resource is not None
    (rule,) = report.resource["accessRules"]
    assert (rule["service"], rule["method"], rule["path"]) == ("metering", "GET", "/v2/**")


async def test_group_gets_a_role_in_a_domain(served: Identity) -> None:
    await served.managed(korc.DOMAIN, "home", name=served.unique("home"))
    await served.managed(korc.GROUP, "team", name="team", domainRef="home")
    await served.imported(korc.ROLE, "reader", name="reader")
    await served.managed(
        korc.ROLE_ASSIGNMENT, "one", roleRef="reader", groupRef="team", domainRef="home"
    )
    report = await served.available(korc.ROLE_ASSIGNMENT, "one")
    assert report.resource is not None
    assert set(report.resource) == {"roleID", "groupID", "domainID"}
