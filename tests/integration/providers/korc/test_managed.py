"""Managed objects and resources that are not as they should be."""

from cobaltcore.api.foreign import korc
from tests.support.identity import CLOUD, Identity

AGAIN = {"resyncPeriod": "1s"}


async def test_second_object_of_the_same_name_is_refused(served: Identity) -> None:
    name = served.unique("mine")
    await served.managed(korc.PROJECT, "first", name=name)
    first = await served.available(korc.PROJECT, "first")

    await served.managed(korc.PROJECT, "second", name=name)
    report = await served.reports(korc.PROJECT, "second", "Project/first already manages this")
    assert (report.available, report.reason) == ("False", "InvalidConfiguration")

    await served.delete(korc.PROJECT, "second")
    await served.gone(korc.PROJECT, "second")
    assert await served.get(f"/projects/{first.id}") is not None


async def test_of_objects_created_at_once_only_one_gets_the_name(served: Identity) -> None:
    name = served.unique("race")
    for each in ("a", "b", "c"):
        await served.managed(korc.GROUP, each, name=name)

    async def decided() -> bool:
        report = [await served.report(korc.GROUP, each) for each in ("a", "b", "c")]
        return sorted(each.reason for each in report) == ["InvalidConfiguration"] * 2 + ["Success"]

    await served.eventually(decided, korc.GROUP, "a", "decided")
    assert len(await served.named("groups", name)) == 1


async def test_existing_resource_is_adopted_and_updated(served: Identity) -> None:
    name = served.unique("old")
    theirs = await served.make("projects", name=name, domain_id="default", enabled=False)

    await served.managed(korc.PROJECT, "one", name=name, description="mine")

    assert (await served.available(korc.PROJECT, "one")).id == theirs["id"]
    found = await served.get(f"/projects/{theirs['id']}")
    assert found is not None
    assert (found["enabled"], found["description"]) == (True, "mine")


async def test_namesake_in_another_domain_is_not_adopted(served: Identity) -> None:
    name = served.unique("same")
    home = await served.make("domains", name=served.unique("home"))
    theirs = await served.make("projects", name=name, domain_id=home["id"])

    await served.managed(korc.PROJECT, "one", name=name)

    report = await served.available(korc.PROJECT, "one")
    assert report.id != theirs["id"]
    assert report.resource is not None
    assert report.resource["domainID"] == "default"


async def test_two_resources_to_adopt_are_a_terminal_error_and_stay(served: Identity) -> None:
    name = served.unique("double")
    theirs = [await served.make("services", name=name, type="double") for _ in range(2)]
    await served.managed(korc.SERVICE, "one", name=name, type="double", enabled=True)
    report = await served.reports(korc.SERVICE, "one", "more than one matching")
    assert report.reason == "InvalidConfiguration"

    await served.delete(korc.SERVICE, "one")
    await served.gone(korc.SERVICE, "one")

    for each in theirs:
        assert await served.get(f"/services/{each['id']}") is not None


async def test_duplicate_name_is_a_terminal_error_until_it_changes(served: Identity) -> None:
    taken, free = served.unique("taken"), served.unique("free")
    await served.make("roles", name=taken)
    await served.managed(korc.ROLE, "one", name=free)
    await served.available(korc.ROLE, "one")

    await served.change(korc.ROLE, "one", name=taken)
    report = await served.reports(korc.ROLE, "one", "invalid configuration updating resource")
    assert (report.available, report.reason) == ("True", "InvalidConfiguration")
    await served.change(korc.ROLE, "one", name=f"{free}-too")

    report = await served.available(korc.ROLE, "one")
    assert report.resource == {"name": f"{free}-too"}


async def test_resync_reverts_changes_in_keystone(served: Identity) -> None:
    name = served.unique("mine")
    await served.managed(korc.PROJECT, "one", name=name, tags=["a"], spec=AGAIN)
    report = await served.available(korc.PROJECT, "one")
    path = f"/projects/{report.id}"

    await served.alter(path, name=f"{name}-x", enabled=False, description="theirs", tags=["b"])

    async def right() -> bool:
        found = await served.get(path) or {}
        seen = [found.get(each) for each in ("name", "enabled", "description", "tags")]
        return seen == [name, True, "", ["a"]]

    await served.eventually(right, korc.PROJECT, "one", "set right")
    (repaired,) = await served.repairs(korc.PROJECT)
    assert repaired == (
        f"Project {name!r} was changed in Keystone: reverted description, enabled, name, tags"
    )


async def test_resync_recreates_a_deleted_resource(served: Identity) -> None:
    name = served.unique("mine")
    await served.managed(korc.ROLE, "one", name=name, spec=AGAIN)
    before = await served.available(korc.ROLE, "one")

    await served.destroy(f"/roles/{before.id}")

    async def back() -> bool:
        report = await served.report(korc.ROLE, "one")
        return report.id not in ("", before.id) and report.reason == "Success"

    await served.eventually(back, korc.ROLE, "one", "recreated")
    assert await served.repairs(korc.ROLE) == [f"Role {name!r} was deleted in Keystone: recreated"]
    assert len(await served.named("roles", name)) == 1


async def test_resync_recreates_a_revoked_assignment(served: Identity) -> None:
    await served.managed(korc.USER, "one", name=served.unique("one"))
    await served.managed(korc.PROJECT, "desk", name=served.unique("desk"))
    await served.imported(korc.ROLE, "reader", name="reader")
    await served.managed(
        korc.ROLE_ASSIGNMENT,
        "one",
        roleRef="reader",
        userRef="one",
        projectRef="desk",
        spec=AGAIN,
    )
    report = await served.available(korc.ROLE_ASSIGNMENT, "one")
    parts = report.resource or {}
    path = f"/projects/{parts['projectID']}/users/{parts['userID']}/roles"

    await served.destroy(f"{path}/{parts['roleID']}")

    async def back() -> bool:
        return bool((await served.admin.request("GET", path))["roles"])

    await served.eventually(back, korc.ROLE_ASSIGNMENT, "one", "recreated")


async def test_detached_resource_stays(served: Identity) -> None:
    await served.managed(
        korc.ROLE,
        "one",
        name=served.unique("kept"),
        spec={"managedOptions": {"onDelete": "detach"}},
    )
    report = await served.available(korc.ROLE, "one")

    await served.delete(korc.ROLE, "one")
    await served.gone(korc.ROLE, "one")

    assert await served.get(f"/roles/{report.id}") is not None


async def test_object_of_a_missing_resource_is_deleted(served: Identity) -> None:
    await served.managed(korc.GROUP, "one", name=served.unique("one"))
    report = await served.available(korc.GROUP, "one")
    await served.destroy(f"/groups/{report.id}")

    await served.delete(korc.GROUP, "one")

    await served.gone(korc.GROUP, "one")


async def test_enabled_domain_stays_until_it_is_disabled(served: Identity) -> None:
    await served.managed(korc.DOMAIN, "one", name=served.unique("one"))
    report = await served.available(korc.DOMAIN, "one")
    await served.delete(korc.DOMAIN, "one")
    await served.reports(korc.DOMAIN, "one", "disable", reason="TransientError")
    assert await served.get(f"/domains/{report.id}") is not None

    await served.change(korc.DOMAIN, "one", enabled=False)

    await served.gone(korc.DOMAIN, "one")
    assert await served.get(f"/domains/{report.id}") is None


async def test_specs_that_the_real_schema_refuses_are_terminal_errors(served: Identity) -> None:
    specs = {
        "nothing": {"cloudCredentialsRef": CLOUD},
        "both": {"cloudCredentialsRef": CLOUD, "resource": {}, "import": {"id": "0" * 32}},
        "neither": {"cloudCredentialsRef": CLOUD, "managementPolicy": "unmanaged", "import": {}},
        "period": {"cloudCredentialsRef": CLOUD, "resource": {}, "resyncPeriod": "soon"},
        "where": {"resource": {}},
    }
    for name, spec in specs.items():
        meta = {"name": name, "namespace": served.namespace}
        body = {
            "apiVersion": korc.ROLE.api_version,
            "kind": "Role",
            "metadata": meta,
            "spec": spec,
        }
        await served.client.create(korc.ROLE, body)
    words = {
        "nothing": "resource must be specified",
        "both": "import may not be specified",
        "neither": "exactly one of id and filter",
        "period": "is not a duration",
        "where": "cloudCredentialsRef",
    }
    for name, message in words.items():
        await served.reports(korc.ROLE, name, message, reason="InvalidConfiguration")
        await served.delete(korc.ROLE, name)
        await served.gone(korc.ROLE, name)
