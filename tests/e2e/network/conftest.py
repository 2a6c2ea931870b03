"""One lab for all network tests; the OVN operator runs next to it from the source tree."""

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
        with lab_ovn.operators_on_host(found):
            yield found
    finally:
        found.remove()


@pytest.fixture(scope="session")
def images(lab: Lab) -> dict[str, str]:
    """References of the images of these tests; waits for builds of other processes."""

    def built() -> dict[str, str]:
        try:
            return lab_providers.images(lab, ("ovs", "ovn", "libvirt"))
        except CommandFailed as failure:
            if "another build works" not in str(failure):
                raise
            return {}

    return eventually(built, "the images are built", seconds=1800)
