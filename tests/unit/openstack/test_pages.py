import msgspec
import pytest
from aiohttp import web

from cobaltcore.openstack import catalog, errors
from cobaltcore.openstack.catalog import ServiceType
from tests.support.openstack_peer import Peer
from tests.support.openstack_sessions import a_session


class Row(msgspec.Struct):
    id: int


def link(style: str, url: str) -> dict[str, object]:
    """How the APIs name the next page."""
    if style == "list":
        return {"things_links": [{"rel": "previous", "href": "x"}, {"rel": "next", "href": url}]}
    return {"links": {"next": url, "self": ""}} if style == "map" else {"next": url}


@pytest.mark.parametrize("style", ["list", "map", "plain"])
async def test_all_pages_are_read(cloud: Peer, style: str) -> None:
    following = link(style, "http://elsewhere.example/v2/things?marker=2&limit=2")
    pages = [{"things": [{"id": 1}, {"id": 2}], **following}, {"things": [{"id": 3}]}]
    cloud.replies["/image/v2/things"] = [web.json_response(each) for each in pages]
    service = a_session(cloud).service(catalog.IMAGE)
    found = await service.list("/v2/things", Row, member="things", params={"limit": "2"})
    assert [each.id for each in found] == [1, 2, 3]
    assert [each.query for each in cloud.asked[1:]] == [
        {"limit": "2"},
        {"limit": "2", "marker": "2"},
    ]


async def test_one_page_is_enough_if_asked_for(cloud: Peer) -> None:
    page = {"things": [{"id": 1}], "next": "/v2/things?marker=1"}
    cloud.content["/image/v2/things"] = page
    service = a_session(cloud).service(catalog.IMAGE)
    assert len(await service.list("/v2/things", Row, member="things", pages=1)) == 1
    assert cloud.count("GET", "/image/v2/things") == 1


async def test_a_page_that_leads_to_itself_is_the_last(cloud: Peer) -> None:
    page = {"things": [{"id": 1}], "next": "/v2/things?marker=1"}
    cloud.content["/image/v2/things"] = page
    service = a_session(cloud).service(catalog.IMAGE)
    assert len(await service.list("/v2/things", Row, member="things")) == 2


async def test_a_missing_endpoint_is_named_with_the_remedy(cloud: Peer) -> None:
    cloud.unlisted.add("image")
    with pytest.raises(errors.NotInCatalog) as caught:
        await a_session(cloud).service(catalog.IMAGE).delete("/v2/images/1")
    assert caught.value.message == (
        "Keystone's catalogue has no internal endpoint of type 'image' in region 'RegionOne'"
    )
    assert "openstack endpoint create --region RegionOne image internal URL" in caught.value.hint


async def test_an_endpoint_that_was_added_is_found_with_the_same_token(cloud: Peer) -> None:
    cloud.unlisted.add("image")
    session = a_session(cloud)
    await session.token()
    cloud.unlisted.clear()
    assert await session.endpoint(catalog.IMAGE) == f"{cloud.url}/image"
    assert cloud.tokens == ["token-1"]


def test_older_types_and_what_exists_instead_are_found() -> None:
    endpoint = catalog.Endpoint("http://cinder:8776/v3/", "public", "RegionTwo")
    entries = (catalog.Entry("volumev3", "cinder", (endpoint,)),)
    wanted = catalog.BLOCK_STORAGE
    found = catalog.find(entries, wanted, interface="public", region="RegionTwo")
    assert found == "http://cinder:8776/v3"
    with pytest.raises(errors.NotInCatalog, match="it has: public in 'RegionTwo'"):
        catalog.find(entries, wanted, interface="internal", region="RegionTwo")


def test_every_service_has_a_type() -> None:
    assert catalog.TYPES["block-storage"].header == "volume"
    assert all(isinstance(each, ServiceType) for each in catalog.TYPES.values())
