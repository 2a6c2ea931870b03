"""External Secrets in the lab: a value goes to the store and comes back, and a pod sees it."""

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
    eventually(lambda: content(lab) == "clouds: {}\n", "the value has come back")


def content(lab: Lab) -> str:
    data = lab.get(*TARGET).get("data", {})
    return base64.b64decode(data.get("clouds.yaml", "")).decode()


def change(lab: Lab, value: str) -> None:
    """Change the source."""
    encoded = base64.b64encode(value.encode()).decode()
    lab.kubectl("patch", *SOURCE, "--patch", f'{{"data": {{"clouds.yaml": "{encoded}"}}}}')


@pytest.mark.usefixtures("example")
def test_a_value_goes_round_and_a_pod_reads_it(lab: Lab) -> None:
    image = lab_providers.images(lab, ["python-base"])["python-base"]
    source = {"secret": {"secretName": "k-orc-clouds-yaml"}}
    pod = workloads.pod("reader", image, mounts=[{"name": "v", "path": "/v", "source": source}])
    lab.create("orc-system", pod)
    lab.wait_for_pod("orc-system", "reader")
    read = ("exec", "-n", "orc-system", "reader", "--", "cat", "/v/clouds.yaml")
    assert lab.kubectl(*read) == "clouds: {}\n"

    change(lab, "clouds: {new: {}}\n")
    eventually(lambda: _follows(lab, "clouds: {new: {}}\n"), "the target follows")
    eventually(lambda: lab.kubectl(*read) == "clouds: {new: {}}\n", "the pod sees it")

    lab.kubectl("delete", "clustersecretstore", "openbao-cluster-store")
    eventually(lambda: _reason(lab) == "SecretSyncedError", "a missing store is told")
    assert content(lab) == "clouds: {new: {}}\n"

    lab.kubectl("delete", "pushsecret", "-n", "openstack", "k-orc-app-credential")
    assert lab.get(*SOURCE)
    lab.kubectl("apply", "-f", "-", input=workloads.text(*lab_providers.example("secrets")))
    eventually(lambda: _follows(lab, "clouds: {}\n"), "a store that is back serves again")
    lab.kubectl("delete", "externalsecret", "-n", "orc-system", "k-orc-clouds-yaml")
    eventually(lambda: not lab.get(*TARGET), "an owned target goes with its object")
    lab.kubectl("delete", "pod", "-n", "orc-system", "reader")


def _reason(lab: Lab) -> str:
    found = lab.get("externalsecret", "-n", "orc-system", "k-orc-clouds-yaml")
    conditions = found.get("status", {}).get("conditions", [])
    return next((str(each["reason"]) for each in conditions if each["type"] == "Ready"), "")


def _follows(lab: Lab, value: str) -> bool:
    """Ask for the value at once, as people do; it may not have reached the store yet."""
    lab.kubectl(
        "annotate", "externalsecret", "-n", "orc-system", "k-orc-clouds-yaml",
        f"force-sync={time.monotonic()}", "--overwrite",
    )  # fmt: skip
    return content(lab) == value
