"""`cobalt doctor` against a real API server with simulated nodes."""

import json

from tests.integration.engine.test_keystone import a_keystone
from tests.support import asking
from tests.support.control_plane import ControlPlaneHarness


def test_what_works_and_what_does_not_with_its_fix(plane: ControlPlaneHarness, space: str) -> None:
    asking.create(plane, a_keystone(space))
    code, text = asking.cobalt(plane, "doctor", "-o", "json")
    found = {each["name"]: each for each in json.loads(text)}
    assert found["CRDs"]["ok"]
    assert found["third party k8s.mariadb.com"]["ok"]
    assert found["node simulated-0"]["ok"]
    # Nothing but the API is here: no DNS, no storage.
    assert not found["DNS"]["ok"]
    assert not found["storage"]["ok"]
    assert "is-default-class" in found["storage"]["fix"]
    assert code == 1
    code, text = asking.cobalt(plane, "doctor")
    assert code == 1
    assert "✗ DNS: Service 'kube-dns' does not exist" in text
    assert "    fix: kubectl annotate storageclass" in text
