"""Unmanaged objects: resources of others, found but never changed."""

from cobaltcore.api.foreign import korc
from tests.support.identity import Identity


async def test_import_waits_until_somebody_makes_the_resource(served: Identity) -> None:
    name = served.unique("later")
    await served.imported(korc.PROJECT, "one", name=name)
    told = await served.says(korc.PROJECT, "one", "to be created externally")
    assert (told.available, told.progressing, told.reason) == ("False", "True", "Progressing")

    made = await served.make("projects", name=name, domain_id="default")

    assert (await served.available(korc.PROJECT, "one")).id == made["id"]


async def test_import_that_matches_two_resources_is_a_terminal_error(served: Identity) -> None:
    name = served.unique("twice")
    for domain in ("one", "other"):
        home = await served.make("domains", name=served.unique(domain))
        await served.make("projects", name=name, domain_id=home["id"])

    await served.imported(korc.PROJECT, "which", name=name)

    told = await served.says(korc.PROJECT, "which", "found more than one matching")
    assert (told.available, told.progressing) == ("False", "False")
    assert told.reason == "InvalidConfiguration"


async def test_import_is_told_apart_by_a_domain_that_comes_later(served: Identity) -> None:
    name = served.unique("twice")
    homes = [await served.make("domains", name=served.unique(each)) for each in ("one", "other")]
    made = [await served.make("projects", name=name, domain_id=home["id"]) for home in homes]

    await served.imported(korc.PROJECT, "which", name=name, domainRef="home")
    await served.says(korc.PROJECT, "which", "Waiting for Domain/home to be created")
    await served.imported(korc.DOMAIN, "home", name=homes[1]["name"])

    assert (await served.available(korc.PROJECT, "which")).id == made[1]["id"]


async def test_import_by_tags(served: Identity) -> None:
    tag = served.unique("tag")
    made = await served.make(
        "projects", name=served.unique("a"), domain_id="default", tags=[tag, "blue"]
    )
    await served.make("projects", name=served.unique("b"), domain_id="default", tags=[tag])

    await served.imported(korc.PROJECT, "blue", tags=[tag], tagsAny=["blue", "green"])

    assert (await served.available(korc.PROJECT, "blue")).id == made["id"]


async def test_import_by_id(served: Identity) -> None:
    made = await served.make("groups", name=served.unique("team"), domain_id="default")

    await served.imported(korc.GROUP, "team", id=made["id"])

    told = await served.available(korc.GROUP, "team")
    assert told.resource == {"name": made["name"], "domainID": "default"}


async def test_import_by_an_id_that_does_not_exist_is_a_terminal_error(served: Identity) -> None:
    await served.imported(korc.USER, "nobody", id="0" * 32)

    told = await served.says(korc.USER, "nobody", "referenced resource does not exist")
    assert (told.progressing, told.reason) == ("False", "UnrecoverableError")


async def test_import_of_a_service_and_its_endpoint(served: Identity) -> None:
    service = await served.make("services", type=served.unique("type"), name="n")
    url = "https://one.example.com"
    made = await served.make("endpoints", service_id=service["id"], interface="public", url=url)
    await served.make("endpoints", service_id=service["id"], interface="public", url=f"{url}/2")

    await served.imported(korc.SERVICE, "service", type=service["type"])
    await served.imported(korc.ENDPOINT, "endpoint", serviceRef="service", url=url)

    assert (await served.available(korc.ENDPOINT, "endpoint")).id == made["id"]


async def test_imported_assignment_is_found_by_its_parts(served: Identity) -> None:
    await served.imported(korc.USER, "admin", name="admin")
    await served.imported(korc.ROLE, "admin", name="admin")
    await served.imported(korc.PROJECT, "admin", name="admin")

    await served.imported(
        korc.ROLE_ASSIGNMENT, "admin", userRef="admin", roleRef="admin", projectRef="admin"
    )

    told = await served.available(korc.ROLE_ASSIGNMENT, "admin")
    assert told.resource is not None
    assert set(told.resource) == {"roleID", "userID", "projectID"}


async def test_deleted_import_leaves_the_resource_alone(served: Identity) -> None:
    made = await served.make("roles", name=served.unique("kept"))
    await served.imported(korc.ROLE, "kept", name=made["name"])
    await served.available(korc.ROLE, "kept")

    await served.delete(korc.ROLE, "kept")
    await served.gone(korc.ROLE, "kept")

    assert await served.get(f"/roles/{made['id']}") is not None


async def test_imported_resource_that_changes_is_told_anew_and_left_as_it_is(
    served: Identity,
) -> None:
    made = await served.make("roles", name=served.unique("theirs"))
    again = {"resyncPeriod": "1s"}
    await served.imported(korc.ROLE, "theirs", name=made["name"], spec=again)
    await served.available(korc.ROLE, "theirs")

    await served.alter(f"/roles/{made['id']}", description="their words")

    async def told() -> bool:
        found = (await served.told(korc.ROLE, "theirs")).resource or {}
        return found.get("description") == "their words"

    await served.eventually(told, korc.ROLE, "theirs", "up to date")


async def test_imported_resource_that_vanishes_is_a_terminal_error(served: Identity) -> None:
    made = await served.make("roles", name=served.unique("fleeting"))
    again = {"resyncPeriod": "1s"}
    await served.imported(korc.ROLE, "fleeting", name=made["name"], spec=again)
    await served.available(korc.ROLE, "fleeting")

    await served.destroy(f"/roles/{made['id']}")

    told = await served.says(korc.ROLE, "fleeting", "has been deleted from OpenStack")
    assert (told.available, told.reason) == ("False", "UnrecoverableError")
