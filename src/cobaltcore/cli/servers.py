"""How many servers a cloud has: asked of Nova, as its administrator."""

import asyncio
from datetime import timedelta

import msgspec

from cobaltcore.cli import cloudlogin, errors
from cobaltcore.cli.overview import Servers
from cobaltcore.openstack import catalog
from cobaltcore.openstack.auth import Password
from cobaltcore.openstack.cloud import Cloud
from cobaltcore.openstack.retry import Retry
from cobaltcore.openstack.service import Service
from cobaltcore.openstack.session import Session
from cobaltcore.openstack.transport import HttpTransport
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.errors import RuntimeFault

PAGES = 10
"""Of a thousand servers; more are not counted."""
WITHIN = timedelta(seconds=5)


class _Server(msgspec.Struct):
    id: str


async def count(client: Client, namespace: str) -> Servers:
    """The servers of the cloud in a namespace; the message has the reason if they are unknown."""
    try:
        async with asyncio.timeout(WITHIN.total_seconds()):
            compute = await _compute(client, namespace)
            every, failed = await asyncio.gather(_number(compute), _number(compute, "ERROR"))
    except (RuntimeFault, errors.CommandError) as error:
        return Servers(namespace=namespace, message=str(error))
    except TimeoutError:
        message = f"Nova did not answer within {WITHIN.total_seconds():g} s"
        return Servers(namespace=namespace, message=message)
    return Servers(namespace=namespace, number=every, failed=failed)


async def _compute(client: Client, namespace: str) -> Service:
    known = await cloudlogin.read(client, namespace)
    login = known.login
    cloud = Cloud(
        auth_url=login.auth_url,
        credentials=Password(
            username=login.username, password=login.password, project=login.project
        ),
        region=login.region,
        interface="public",
        ca_certificates=login.ca_bundle,
        timeout=WITHIN,
    )
    session = Session(cloud, transport=HttpTransport(known.addresses), retry=Retry(attempts=1))
    return session.service(catalog.COMPUTE)


async def _number(compute: Service, status: str = "") -> int:
    params = {"all_tenants": "true", **({"status": status} if status else {})}
    found = await compute.list("/servers", _Server, member="servers", params=params, pages=PAGES)
    return len(found)
