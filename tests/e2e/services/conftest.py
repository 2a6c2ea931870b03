"""A lab with operators and providers but no ControlPlane: tests create infrastructure and services.

COBALT_E2E_LAB=NAME uses a running lab (`cobalt up --until operators`) instead of a new one.
"""

from collections.abc import Iterator

import pytest

from cobaltcore.runtime.meta import Object
from cobaltlab.cloud import objects as lab_objects
from tests.support import lab_examples, lab_providers, workloads
from tests.support.cloud import Cloud
from tests.support.lab import Lab, existing_or_new
from tests.support.standalone import Administrator

# Nodes pull these when needed; up-to-date images are not rebuilt.
IMAGES = (*lab_objects.SERVICES, "memcached", "ovn", "ovs", "libvirt")


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab after the step `operators`."""
    root = tmp_path_factory.mktemp("labs")
    with existing_or_new(root, lambda own: own.up(until="operators")) as found:
        yield found


@pytest.fixture(scope="session")
def images(lab: Lab) -> dict[str, str]:
    """References of the images of a cloud."""
    return lab_providers.images(lab, IMAGES)


@pytest.fixture(scope="session")
def applied(lab: Lab, images: dict[str, str]) -> dict[str, Object]:
    """The examples by kind, all applied at once: operators resolve the order."""
    examples = {kind: lab_examples.in_lab(kind) for kind in lab_examples.KINDS}
    administrator = Administrator(lab)
    administrator.prepare(examples.values())
    lab.kubectl("apply", "-f", "-", input=workloads.text(*examples.values()))
    keystone = examples["Keystone"]["metadata"]
    lab_providers.wait_for(lab, keystone["namespace"], "keystone", keystone["name"])
    administrator.identify()
    return examples


@pytest.fixture
def cloud(lab: Lab, applied: dict[str, Object]) -> Cloud:
    """The cloud that the examples are."""
    return Cloud(lab)
