"""External Secrets in the lab: a value is pushed to a store, synced back and mounted in a pod."""

import base64
import time

import pytest

from tests.support import lab_providers, workloads
from tests.support.lab import Lab, eventually

TARGET = ("secret", "-n", "orc-system", "k-orc-clouds-yaml")
SOURCE = ("secret", "-n", "openstack", "k-orc-app-credential")


@pytest.fixture
def example(lab: Lab) -> None:
    lab.kubectl("apply", "-f", "-", input=workloads.text(*lab_providers.example("secrets")))
    eventually(lambda: content(lab) == "clouds: {}\n", "the value is synced")


def content(lab: Lab) -> str:
    data = lab.get(*TARGET).get("data", {})
    return base64.b64decode(data.get("clouds.yaml", "")).decode()


def change(lab: Lab, value: str) -> None:
    """Change the source."""
    encoded = base64.b64encode(value.encode()).decode()
    lab.kubectl("patch", *SOURCE, "--patch", f'{{"data": {{"clouds.yaml": "{encoded}"}}}}')


@pytest.mark.usefixtures("example")
def test_a_pushed_value_is_synced_and_mounted(lab: Lab) -> None:
    image = lab_providers.images(lab, ["python-base"])["python-base"]
    source = {"secret": {"secretName": "k-orc-clouds-yaml"}}
    pod = workloads.pod("reader", image, mounts=[{"name": "v", "path": "/v", "source": source}])
    lab.create("orc-system", pod)
    lab.wait_for_pod("orc-system", "reader")
    read = ("exec", "-n", "orc-system", "reader", "--", "cat", "/v/clouds.yaml")
    assert lab.kubectl(*read) == "clouds: {}\n"

    change(lab, "clouds: {new: {}}\n")
    eventually(lambda: _is_updated(lab, "clouds: {new: {}}\n"), "the target is updated")
    eventually(lambda: lab.kubectl(*read) == "clouds: {new: {}}\n", "the mounted file is updated")

    lab.kubectl("delete", "clustersecretstore", "openbao-cluster-store")
    eventually(lambda: _reason(lab) == "SecretSyncedError", "a missing store is reported")
    assert content(lab) == "clouds: {new: {}}\n"

    lab.kubectl("delete", "pushsecret", "-n", "openstack", "k-orc-app-credential")
    assert lab.get(*SOURCE)
    lab.kubectl("apply", "-f", "-", input=workloads.text(*lab_providers.example("secrets")))
    eventually(lambda: _is_updated(lab, "clouds: {}\n"), "a recreated store is used again")
    lab.kubectl("delete", "externalsecret", "-n", "orc-system", "k-orc-clouds-yaml")
    eventually(lambda: not lab.get(*TARGET), "an owned target is deleted with its ExternalSecret")
    lab.kubectl("delete", "pod", "-n", "orc-system", "reader")


def _reason(lab: Lab) -> str:
    found = lab.get("externalsecret", "-n", "orc-system", "k-orc-clouds-yaml")
    conditions = found.get("status", {}).get("conditions", [])
    return next((str(each["reason"]) for each in conditions if each["type"] == "Ready"), "")


def _is_updated(lab: Lab, value: str) -> bool:
    """Request a refresh now; the value may not have reached the store yet."""
    lab.kubectl(
        "annotate", "externalsecret", "-n", "orc-system", "k-orc-clouds-yaml",
        f"force-sync={time.monotonic()}", "--overwrite",
    )  # fmt: skip
    return content(lab) == value
