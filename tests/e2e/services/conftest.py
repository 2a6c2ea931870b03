"""A lab with operators and providers but no ControlPlane: services stand on what is made by hand.

COBALT_E2E_LAB=NAME uses a lab that runs already (`cobalt up --until operators`) instead of making one.
"""

from collections.abc import Iterator

import pytest

from cobaltcore.lab.cloud import objects as lab_objects
from cobaltcore.runtime.meta import Object
from tests.support import lab_examples, lab_providers, workloads
from tests.support.cloud import Cloud
from tests.support.lab import Lab, given_or_own
from tests.support.standalone import SPACE, Engineer

# Nodes pull these when they need them; what is up to date is not built again.
IMAGES = (*lab_objects.SERVICES, "memcached", "ovn", "ovs", "libvirt", "guest", "tempest")


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab that would run a cloud if somebody asked for one."""
    root = tmp_path_factory.mktemp("labs")
    with given_or_own(root, lambda own: own.up(until="operators")) as found:
        yield found


@pytest.fixture(scope="session")
def images(lab: Lab) -> dict[str, str]:
    """References of the images of a cloud."""
    return lab_providers.images(lab, IMAGES)


@pytest.fixture(scope="session")
def applied(lab: Lab, images: dict[str, str]) -> dict[str, Object]:
    """The examples by kind, all applied at once: they find out by themselves who waits for whom."""
    examples = {kind: lab_examples.in_lab(kind) for kind in lab_examples.KINDS}
    engineer = Engineer(lab)
    engineer.prepare(examples.values())
    lab.kubectl("apply", "-f", "-", input=workloads.text(*examples.values()))
    keystone = examples["Keystone"]["metadata"]
    lab_providers.wait_for(lab, keystone["namespace"], "keystone", keystone["name"])
    engineer.identify()
    return examples


@pytest.fixture
def cloud(lab: Lab, applied: dict[str, Object], images: dict[str, str]) -> Cloud:
    """A pod with OpenStack's client, whose login is a file that comes from a Secret."""
    Engineer(lab).apply(lab_objects.toolbox(images))
    wait = ("rollout", "status", "--timeout=600s", "-n", SPACE)
    lab.kubectl(*wait, f"deployment/{lab_objects.TOOLBOX.name}")
    return Cloud(lab)
