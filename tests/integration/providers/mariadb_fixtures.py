"""The MariaDB provider with servers on loopback behind its Services."""

from functools import partial

from cobaltlab.providers import mariadb
from cobaltlab.providers.provider import Provider
from tests.support.mariadb import HOST


def provided() -> Provider:
    """The provider, to which every Service seems to be on loopback; the port is the object's."""
    found = mariadb.PROVIDER
    controllers = partial(mariadb.controllers, address=lambda service: HOST)
    return Provider(found.name, found.kinds, controllers)
