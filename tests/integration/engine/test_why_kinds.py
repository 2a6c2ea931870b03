"""`cobalt why` on an API server that does not serve every kind."""

from collections.abc import Iterator

import pytest

from cobaltcore.api import crd
from tests.integration.engine.test_controlplane import a_control_plane
from tests.integration.engine.test_keystone import a_keystone
from tests.support import asking, background
from tests.support.control_plane import ControlPlaneHarness
from tests.support.services import serving

LEFT_OUT = "placements.placement.openstack.c5c3.io"


@pytest.fixture(scope="module")
def partial() -> Iterator[ControlPlaneHarness]:
    """An API server with our kinds but one, and with none of third parties."""
    with ControlPlaneHarness() as plane:
        plane.install_crds(e for e in crd.manifests() if e["metadata"]["name"] != LEFT_OUT)
        yield plane


def test_the_kind_without_which_operators_do_not_start(partial: ControlPlaneHarness) -> None:
    namespace = partial.create_namespace()
    asking.create(partial, a_keystone(namespace))
    seen = asking.cause(partial, "Keystone/keystone", namespace)
    assert seen[1] == "KindMissing"
    assert "does not serve Placement" in seen[2]
    assert "operators cannot start" in seen[2]
    found = asking.why(partial, "Placement/placement", namespace)
    assert found["cause"]["reason"] == "KindMissing"
    assert LEFT_OUT in found["next"]


def test_the_kind_of_a_third_party_that_is_not_installed(partial: ControlPlaneHarness) -> None:
    left_out = (e for e in crd.manifests() if e["metadata"]["name"] == LEFT_OUT)
    partial.install_crds(left_out)
    namespace = partial.create_namespace()
    asking.create(partial, a_control_plane(namespace))
    with background.running(lambda: serving(partial, ["c5c3"])):
        seen = asking.named(partial, "ControlPlane/lab", namespace, "does not serve Issuer")
    assert seen[1] == "KindMissing"
