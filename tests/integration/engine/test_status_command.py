"""`cobalt status` of a control plane: real API server and operators, pods simulated by KWOK."""

import json
from typing import Any

from cobaltcore.runtime.client import Client
from tests.integration.engine.test_controlplane import a_control_plane, is_ready
from tests.support import asking
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually
from tests.support.services import serving


def status(plane: ControlPlaneHarness, namespace: str) -> dict[str, Any]:
    code, text = asking.cobalt(plane, "status", "-n", namespace, "-o", "json")
    assert code == 0, text
    found: dict[str, Any] = json.loads(text)
    return found


async def test_one_screen_from_a_new_control_plane_to_a_ready_one(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    wanted = a_control_plane(space)
    wanted["spec"]["services"]["placement"] = {"enabled": True}
    asking.create(plane, wanted)
    (new,) = (await asking.in_thread(status, plane, space))["control_planes"]
    assert not new["ready"]
    assert "is its operator running?" in new["message"]
    async with serving(plane, ("c5c3", "keystone", "placement", "credentials")):
        await eventually(is_ready(client, space), "the control plane is Ready")
        found = await asking.in_thread(status, plane, space)
        code, text = await asking.in_thread(asking.cobalt, plane, "status", "-n", space)
    (lab,) = found["control_planes"]
    assert (lab["name"], lab["ready"], lab["progress"]) == ("lab", True, "10/10")
    services = {f"{each['kind']}/{each['name']}": each for each in found["services"]}
    assert list(services) == ["Keystone/keystone", "Placement/placement"]
    keystone = services["Keystone/keystone"]
    assert keystone["ready"]
    assert (keystone["version"], keystone["ready_pods"], keystone["pods"]) == ("28.0.0", 1, 1)
    assert keystone["endpoint"].startswith("https://keystone.")
    public = [each for each in found["endpoints"] if each["interface"] == "public"]
    assert [(each["service"], each["ready"]) for each in public] == [("placement-service", True)]
    assert code == 0
    assert "CONTROL PLANE" in text
    assert "Placement/placement" in text
