"""Unmanaged objects: resources of others, found but never changed."""

from cobaltcore.api.foreign import korc
from tests.support.identity import Identity


async def test_import_waits_until_the_resource_exists(served: Identity) -> None:
    name = served.unique("later")
    await served.imported(korc.PROJECT, "one", name=name)
    report = await served.reports(korc.PROJECT, "one", "to be created externally")
    assert (report.available, report.progressing, report.reason) == (
        "False",
        "True",
        "Progressing",
    )

    created = await served.make("projects", name=name, domain_id="default")

    assert (await served.available(korc.PROJECT, "one")).id == created["id"]


async def test_import_that_matches_two_resources_is_a_terminal_error(served: Identity) -> None:
    name = served.unique("twice")
    for domain in ("one", "other"):
        home = await served.make("domains", name=served.unique(domain))
        await served.make("projects", name=name, domain_id=home["id"])

    await served.imported(korc.PROJECT, "which", name=name)

    report = await served.reports(korc.PROJECT, "which", "found more than one matching")
    assert (report.available, report.progressing) == ("False", "False")
    assert report.reason == "InvalidConfiguration"


async def test_import_waits_for_the_domain_of_its_filter(served: Identity) -> None:
    name = served.unique("twice")
    homes = [await served.make("domains", name=served.unique(each)) for each in ("one", "other")]
    created = [await served.make("projects", name=name, domain_id=home["id"]) for home in homes]

    await served.imported(korc.PROJECT, "which", name=name, domainRef="home")
    await served.reports(korc.PROJECT, "which", "Waiting for Domain/home to be created")
    await served.imported(korc.DOMAIN, "home", name=homes[1]["name"])

    assert (await served.available(korc.PROJECT, "which")).id == created[1]["id"]


async def test_import_by_tags(served: Identity) -> None:
    tag = served.unique("tag")
    created = await served.make(
        "projects", name=served.unique("a"), domain_id="default", tags=[tag, "blue"]
    )
    await served.make("projects", name=served.unique("b"), domain_id="default", tags=[tag])

    await served.imported(korc.PROJECT, "blue", tags=[tag], tagsAny=["blue", "green"])

    assert (await served.available(korc.PROJECT, "blue")).id == created["id"]


async def test_import_by_id(served: Identity) -> None:
    created = await served.make("groups", name=served.unique("team"), domain_id="default")

    await served.imported(korc.GROUP, "team", id=created["id"])

    report = await served.available(korc.GROUP, "team")
    assert report.resource == {"name": created["name"], "domainID": "default"}


async def test_import_by_an_id_that_does_not_exist_is_a_terminal_error(served: Identity) -> None:
    await served.imported(korc.USER, "nobody", id="0" * 32)

    report = await served.reports(korc.USER, "nobody", "referenced resource does not exist")
    assert (report.progressing, report.reason) == ("False", "UnrecoverableError")


async def test_import_of_a_service_and_its_endpoint(served: Identity) -> None:
    service = await served.make("services", type=served.unique("type"), name="n")
    url = "https://one.example.com"
    created = await served.make("endpoints", service_id=service["id"], interface="public", url=url)
    await served.make("endpoints", service_id=service["id"], interface="public", url=f"{url}/2")

    await served.imported(korc.SERVICE, "service", type=service["type"])
    await served.imported(korc.ENDPOINT, "endpoint", serviceRef="service", url=url)

    assert (await served.available(korc.ENDPOINT, "endpoint")).id == created["id"]


async def test_imported_assignment_is_found_by_its_parts(served: Identity) -> None:
    await served.imported(korc.USER, "admin", name="admin")
    await served.imported(korc.ROLE, "admin", name="admin")
    await served.imported(korc.PROJECT, "admin", name="admin")

    await served.imported(
        korc.ROLE_ASSIGNMENT, "admin", userRef="admin", roleRef="admin", projectRef="admin"
    )

    report = await served.available(korc.ROLE_ASSIGNMENT, "admin")
    assert report.resource is not None
    assert set(report.resource) == {"roleID", "userID", "projectID"}


async def test_deleted_import_leaves_the_resource_alone(served: Identity) -> None:
    created = await served.make("roles", name=served.unique("kept"))
    await served.imported(korc.ROLE, "kept", name=created["name"])
    await served.available(korc.ROLE, "kept")

    await served.delete(korc.ROLE, "kept")
    await served.gone(korc.ROLE, "kept")

    assert await served.get(f"/roles/{created['id']}") is not None


async def test_changed_imported_resource_is_reported_and_not_updated(
    served: Identity,
) -> None:
    created = await served.make("roles", name=served.unique("theirs"))
    again = {"resyncPeriod": "1s"}
    await served.imported(korc.ROLE, "theirs", name=created["name"], spec=again)
    await served.available(korc.ROLE, "theirs")

    await served.alter(f"/roles/{created['id']}", description="their words")

    async def report() -> bool:
        found = (await served.report(korc.ROLE, "theirs")).resource or {}
        return found.get("description") == "their words"

    await served.eventually(report, korc.ROLE, "theirs", "up to date")


async def test_deleted_imported_resource_is_a_terminal_error(served: Identity) -> None:
    created = await served.make("roles", name=served.unique("fleeting"))
    again = {"resyncPeriod": "1s"}
    await served.imported(korc.ROLE, "fleeting", name=created["name"], spec=again)
    await served.available(korc.ROLE, "fleeting")

    await served.destroy(f"/roles/{created['id']}")

    report = await served.reports(korc.ROLE, "fleeting", "has been deleted from OpenStack")
    assert (report.available, report.reason) == ("False", "UnrecoverableError")
