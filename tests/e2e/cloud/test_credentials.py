"""Each service logs in as itself, and its credential is replaced while it works."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime

from tests.support.cloud import NAMESPACE, Cloud, asking
from tests.support.lab import Lab, eventually

SERVICES = ("glance", "placement", "nova", "neutron", "cinder")
ROTATION = "nova-app-credential"


def credential(lab: Lab, service: str) -> tuple[str, str]:
    """The credential that a service is given: its identity and its secret half."""
    data = lab.get("secret", f"{service}-keystone-credentials", "-n", NAMESPACE)["data"]
    id_, secret = (
        base64.b64decode(data[f"application_credential_{each}"]).decode()
        for each in ("id", "secret")
    )
    return id_, secret


def log_in(cloud: Cloud, id_: str, secret: str) -> bool:
    """Whether Keystone takes a credential; it travels by the standard input."""
    script = (
        "import sys, openstack\n"
        f"id_, secret = {id_!r}, {secret!r}\n"
        "url = openstack.connect().config.config['auth']['auth_url']\n"
        "cacert = openstack.connect().config.config.get('cacert')\n"
        "from keystoneauth1 import exceptions, session\n"
        "from keystoneauth1.identity.v3 import ApplicationCredential\n"
        "auth = ApplicationCredential(url, application_credential_id=id_,"
        " application_credential_secret=secret)\n"
        "try:\n    session.Session(auth, verify=cacert or True).get_token()\n"
        "except (exceptions.Unauthorized, exceptions.NotFound):\n    print('refused')\n"
        "else:\n    print('taken')\n"
    )
    said = cloud.python(script)
    assert said in {"refused", "taken"}, said
    return said == "taken"


def test_every_service_has_a_credential_of_its_own_user(lab: Lab, cloud: Cloud) -> None:
    for service in SERVICES:
        listed = cloud.get("application", "credential", "list", "--user", service)
        id_, _ = credential(lab, service)
        assert id_ in {each["ID"] for each in listed}, service
        told = lab.get(service, service, "-n", NAMESPACE)["status"]["applicationCredentialID"]
        assert told == id_


def test_no_request_fails_while_a_credential_is_replaced(
    lab: Lab, cloud: Cloud, tell: Callable[[str], None]
) -> None:
    old = credential(lab, "nova")
    assert log_in(cloud, *old)
    lab.kubectl(
        "patch", "credentialrotation", ROTATION, "-n", NAMESPACE, "--type=merge",
        "-p", '{"spec":{"gracePeriodDays":0}}',
    )  # fmt: skip
    with asking(cloud) as asked:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        lab.kubectl(
            "annotate", "credentialrotation", ROTATION, "-n", NAMESPACE, "--overwrite",
            f"c5c3.io/rotate-after={now}",
        )  # fmt: skip
        eventually(lambda: credential(lab, "nova") != old, "a new credential is handed out")
        new = credential(lab, "nova")

        def used() -> bool:
            nova = lab.get("nova", "nova", "-n", NAMESPACE)
            return bool(nova.get("status", {}).get("applicationCredentialID") == new[0])

        eventually(used, "nova uses the new credential")
        eventually(lambda: not log_in(cloud, *old), "the old credential is refused")
    assert log_in(cloud, *new)
    tell(f"rotation: {asked.sent} requests, {len(asked.failed)} failed")
    assert asked.sent > 50
    assert asked.failed == []
