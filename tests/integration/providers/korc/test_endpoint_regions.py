"""`cobalt-agent keystone endpoint-regions`, against a real Keystone."""

import os
import subprocess
import sys

from cobaltcore.api.foreign import korc
from tests.support.identity import Identity
from tests.support.keystone import ADMIN_PASSWORD, KeystoneHarness

COMMAND = "from cobaltcore.agents import dispatch; dispatch.main()"


def run(keystone: KeystoneHarness, *arguments: str) -> subprocess.CompletedProcess[str]:
    login = {
        "OS_AUTH_URL": keystone.url,
        "OS_USERNAME": "admin",
        "OS_PASSWORD": ADMIN_PASSWORD,
        "OS_PROJECT_NAME": "admin",
    }
    return subprocess.run(
        [sys.executable, "-c", COMMAND, "keystone", "endpoint-regions", *arguments],
        env={**os.environ, **login},
        capture_output=True,
        text=True,
        check=False,
    )


async def test_endpoints_get_their_region_and_keep_it(
    served: Identity, keystone: KeystoneHarness
) -> None:
    await served.managed(korc.SERVICE, "images", type="image", name=served.unique("images"))
    await served.available(korc.SERVICE, "images")
    await served.managed(
        korc.ENDPOINT, "public", serviceRef="images", interface="public", url="http://images.test"
    )
    id_ = (await served.available(korc.ENDPOINT, "public")).id
    for _ in range(2):
        done = run(keystone, "RegionOne", id_)
        assert done.returncode == 0, done.stderr
    found = await served.get(f"/endpoints/{id_}")
    assert found is not None
    assert found["region_id"] == "RegionOne"


def test_an_endpoint_that_does_not_exist_is_an_error(keystone: KeystoneHarness) -> None:
    done = run(keystone, "RegionOne", "no-such-endpoint")
    assert done.returncode != 0
    assert "404" in done.stderr
