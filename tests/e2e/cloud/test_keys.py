"""Keystone's keys are rotated three times; what they encrypted before is still readable."""

from collections.abc import Callable

from tests.support.cloud import NAMESPACE, Cloud
from tests.support.lab import Lab, eventually

NAMES = ("fernet-keys", "credential-keys")
LONG_AGO = "2026-01-01T00:00:00Z"
KUBELET_SECONDS = 180
"""Until a kubelet has brought a changed Secret into a pod."""
VALIDATE = """
import sys, openstack
found = openstack.connect().identity.get(
    "/auth/tokens", headers={"X-Subject-Token": sys.argv[1]})
print(found.status_code)
"""


def keys(lab: Lab, name: str) -> set[int]:
    data = lab.get("secret", f"keystone-{name}", "-n", NAMESPACE)["data"]
    return {int(each) for each in data}


def keys_in_pod(lab: Lab, name: str) -> set[int]:
    """The keys that Keystone reads."""
    command = ("exec", "-n", NAMESPACE, "deployment/keystone-api", "-c", "keystone-api")
    listed = lab.kubectl(*command, "--", "ls", f"/etc/keystone/{name}").split()
    return {int(each) for each in listed}


def rotate(lab: Lab) -> None:
    """Make the last rotation old, and wait until pods have what follows."""
    wanted = {name: max(keys(lab, name)) + 1 for name in NAMES}
    for name in NAMES:
        lab.kubectl(
            "annotate", "secret", f"keystone-{name}", "-n", NAMESPACE, "--overwrite",
            f"c5c3.io/rotated-at={LONG_AGO}",
        )  # fmt: skip

    def has(read: Callable[[Lab, str], set[int]]) -> Callable[[], bool]:
        return lambda: all(number in read(lab, name) for name, number in wanted.items())

    eventually(has(keys), f"keys {wanted} are promoted")
    eventually(has(keys_in_pod), "pods have them", seconds=KUBELET_SECONDS)


def test_what_keys_encrypted_survives_three_rotations(lab: Lab, cloud: Cloud) -> None:
    token = cloud.get("token", "issue")["id"]
    stored = cloud.get("ec2", "credentials", "create")
    try:
        for _ in range(3):
            rotate(lab)
            found = cloud.get("ec2", "credentials", "show", stored["access"])
            assert found["secret"] == stored["secret"]
            assert cloud.python(VALIDATE, token) == "200"
        assert 1 in keys(lab, "fernet-keys"), "its tokens can still be used"
        assert 1 not in keys(lab, "credential-keys"), "it encrypts nothing any more"
    finally:
        cloud.run("ec2", "credentials", "delete", stored["access"])
