import pytest
from aiohttp import web

from cobaltcore.openstack import catalog, errors, versions
from cobaltcore.openstack.catalog import ServiceType
from cobaltcore.openstack.versions import Range
from tests.support.openstack_peer import Peer
from tests.support.openstack_sessions import a_session

NOVA = {"version": {"id": "v2.1", "min_version": "2.1", "version": "2.100"}}
PLACEMENT = {"versions": [{"id": "v1.0", "min_version": "1.0", "max_version": "1.39"}]}
CINDER = {"versions": [{"id": "v3.0", "min_version": "3.0", "version": "3.71"}]}


@pytest.mark.parametrize(
    ("service", "root", "document", "wanted", "header"),
    [
        (catalog.COMPUTE, "/compute/v2.1/", NOVA, Range("2.53", "2.95"), "compute 2.95"),
        (catalog.COMPUTE, "/compute/v2.1/", NOVA, Range("2.53", "2.104"), "compute 2.100"),
        (catalog.PLACEMENT, "/placement/", PLACEMENT, Range("1.2", "1.39"), "placement 1.39"),
        (catalog.BLOCK_STORAGE, "/block-storage/v3/", CINDER, Range("3.0", "3.9"), "volume 3.9"),
    ],
)
async def test_the_newest_version_that_both_speak_is_used(
    cloud: Peer,
    service: ServiceType,
    root: str,
    document: dict[str, object],
    wanted: Range,
    header: str,
) -> None:
    cloud.content[root] = document
    api = a_session(cloud).service(service, versions=wanted)
    for _ in range(2):
        await api.list("/things", dict, member="things")
    things = [each for each in cloud.asked if each.path.endswith("/things")]
    assert {each.headers["OpenStack-API-Version"] for each in things} == {header}
    assert cloud.count("GET", root) == 1


async def test_some_apis_send_their_versions_as_multiple_choices(cloud: Peer) -> None:
    cloud.replies["/placement/"] = [web.json_response(PLACEMENT, status=300)]
    api = a_session(cloud).service(catalog.PLACEMENT, versions=Range("1.2", "1.5"))
    assert await api.microversion() == "1.5"


async def test_an_api_that_is_too_old_is_named(cloud: Peer) -> None:
    cloud.content["/compute/v2.1/"] = NOVA
    api = a_session(cloud).service(catalog.COMPUTE, versions=Range("2.101", "2.104"))
    with pytest.raises(errors.VersionUnsupported) as caught:
        await api.microversion()
    assert "serves microversions 2.1 to 2.100, and 2.101 to 2.104 are needed" in str(caught.value)


async def test_no_version_is_asked_for_unless_wanted(cloud: Peer) -> None:
    await a_session(cloud).service(catalog.COMPUTE).list("/things", dict, member="things")
    assert "OpenStack-API-Version" not in cloud.asked[-1].headers


@pytest.mark.parametrize("body", [b"{", b"[]"])
def test_a_document_that_cannot_be_read_is_named(body: bytes) -> None:
    with pytest.raises(errors.Malformed, match="no document of versions"):
        versions.served("http://nova", body)


def test_an_api_without_microversions_is_named() -> None:
    with pytest.raises(errors.VersionUnsupported, match="has no microversions"):
        versions.served("http://neutron", b'{"versions": [{"id": "v2.0"}]}')


def test_a_version_that_is_no_number_is_named() -> None:
    with pytest.raises(errors.Malformed, match=r"'x\.1' is no microversion"):
        versions.chosen("nova", Range("2.1", "2.3"), Range("x.1", "x.1"))
