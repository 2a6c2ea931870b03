"""One lab for all tests of the network; its operator runs beside it, from the source tree."""

from collections.abc import Iterator

import pytest

from tests.support import lab_ovn, lab_providers
from tests.support.lab import CommandFailed, Lab, eventually


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A running lab that pulls the images of this source tree."""
    found = Lab(tmp_path_factory.mktemp("labs"))
    try:
        found.up()
        with lab_ovn.operating(found):
            yield found
    finally:
        found.remove()


@pytest.fixture(scope="session")
def images(lab: Lab) -> dict[str, str]:
    """References of the images that these tests run, once nobody else builds any."""

    def built() -> dict[str, str]:
        try:
            return lab_providers.images(lab, ("ovs", "ovn", "libvirt"))
        except CommandFailed as failure:
            if "another build works" not in str(failure):
                raise
            return {}

    return eventually(built, "the images are built", seconds=1800)
