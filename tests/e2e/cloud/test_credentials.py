"""Each service has its own application credential, which is rotated without downtime."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime

from tests.support.cloud import NAMESPACE, Cloud, requesting
from tests.support.lab import Lab, eventually

SERVICES = ("glance", "placement", "nova", "neutron", "cinder")
ROTATION = "nova-app-credential"


def credential(lab: Lab, service: str) -> tuple[str, str]:
    """ID and secret of a service's application credential."""
    data = lab.get("secret", f"{service}-keystone-credentials", "-n", NAMESPACE)["data"]
    id_, secret = (
        base64.b64decode(data[f"application_credential_{each}"]).decode()
        for each in ("id", "secret")
    )
    return id_, secret


def session(id_: str, secret: str) -> str:
    """A program that logs in with a credential; it is passed over stdin."""
    return (
        "import sys, openstack\n"
        f"id_, secret = {id_!r}, {secret!r}\n"
        "url = openstack.connect().config.config['auth']['auth_url']\n"
        "cacert = openstack.connect().config.config.get('cacert')\n"
        "from keystoneauth1 import exceptions, session\n"
        "from keystoneauth1.identity.v3 import ApplicationCredential\n"
        "auth = ApplicationCredential(url, application_credential_id=id_,"
        " application_credential_secret=secret)\n"
        "opened = session.Session(auth, verify=cacert or True)\n"
    )


def log_in(cloud: Cloud, id_: str, secret: str) -> bool:
    """Whether Keystone accepts a credential."""
    script = (
        f"{session(id_, secret)}"
        "try:\n    opened.get_token()\n"
        "except (exceptions.Unauthorized, exceptions.NotFound):\n    print('rejected')\n"
        "else:\n    print('accepted')\n"
    )
    result = cloud.python(script)
    assert result in {"rejected", "accepted"}, result
    return result == "accepted"


def test_every_service_has_an_application_credential_of_its_own_user(
    lab: Lab, cloud: Cloud
) -> None:
    for service in SERVICES:
        listed = cloud.get("application", "credential", "list", "--user", service)
        id_, _ = credential(lab, service)
        assert id_ in {each["ID"] for each in listed}, service
        reported = lab.get(service, service, "-n", NAMESPACE)["status"]["applicationCredentialID"]
        assert reported == id_


def test_users_that_check_tokens_administer_nothing(lab: Lab, cloud: Cloud) -> None:
    requests = (("identity", "/users"), ("compute", "/os-hypervisors"))
    for service, roles in (("glance", {"reader", "service"}), ("placement", {"service"})):
        held = cloud.get("role", "assignment", "list", "--user", service, "--names")
        assert {each["Role"].partition("@")[0] for each in held} == roles, service
        script = (
            f"{session(*credential(lab, service))}"
            f"for type_, path in {requests!r}:\n"
            "    print(opened.get(path, endpoint_filter={'service_type': type_,"
            " 'interface': 'internal'}, raise_exc=False).status_code)\n"
        )
        assert cloud.python(script).split() == ["403", "403"], service


def test_no_request_fails_while_a_credential_is_rotated(
    lab: Lab, cloud: Cloud, report: Callable[[str], None]
) -> None:
    old = credential(lab, "nova")
    assert log_in(cloud, *old)
    lab.kubectl(
        "patch", "credentialrotation", ROTATION, "-n", NAMESPACE, "--type=merge",
        "-p", '{"spec":{"gracePeriodDays":0}}',
    )  # fmt: skip
    with requesting(cloud) as requests:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        lab.kubectl(
            "annotate", "credentialrotation", ROTATION, "-n", NAMESPACE, "--overwrite",
            f"c5c3.io/rotate-after={now}",
        )  # fmt: skip
        eventually(lambda: credential(lab, "nova") != old, "a new credential is created")
        new = credential(lab, "nova")

        def used() -> bool:
            nova = lab.get("nova", "nova", "-n", NAMESPACE)
            return bool(nova.get("status", {}).get("applicationCredentialID") == new[0])

        eventually(used, "nova uses the new credential")
        eventually(lambda: not log_in(cloud, *old), "the old credential is rejected")
    assert log_in(cloud, *new)
    report(f"rotation: {requests.sent} requests, {len(requests.failed)} failed")
    assert requests.sent > 50
    assert requests.failed == []
