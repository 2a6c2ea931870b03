"""An idle cloud causes no API requests and leaks no secrets."""

import base64
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from cobaltcore.api.foreign import korc
from tests.support import audit
from tests.support.cloud import NAMESPACE
from tests.support.healing import is_whole
from tests.support.lab import Lab, eventually

IDLE_SECONDS = 60
SETTLED_SECONDS = 75
"""Longer than the interval of Ceph health checks, which report changes of used space."""
KINDS = ("configmaps", "events", "pods", "deployments", "statefulsets", "daemonsets", "jobs")
OPERATORS = "system:serviceaccount:c5c3-system:cobalt-operators"
PROVIDERS = "system:serviceaccount:c5c3-system:cobalt-providers"
CHANGES = ("create", "update", "patch", "delete", "deletecollection")
SHORTEST_SECRET = 16
"""Shorter values (user names, ports) are not secret."""
LONGEST_PASSWORD = 200
PUBLIC_KEYS = ("ca.crt", "tls.crt", "username", "host", "hosts", "cacert", "fsid", "mon_host")
"""Keys of Secrets whose values are public."""


def test_an_idle_minute_has_no_request_of_operators(lab: Lab) -> None:
    """The lab's Ceph provider checks health by `exec`, which is no change; K-ORC looks for drift
    every ten minutes, and reports when it did."""
    log = lab.state_dir.node("control-plane") / "log/audit.log"
    eventually(
        lambda: is_whole(lab) and is_settled(log), "everything is Ready and nothing changes"
    )
    start = log.stat().st_size
    end = time.monotonic() + IDLE_SECONDS
    eventually(lambda: time.monotonic() >= end, "a minute has passed")
    logged = audit.requests(log, audit.Marker(offset=start), audit.Filter())
    assert logged, "kubelets send requests, so an empty audit log is the wrong file"
    found = [each for each in logged if each.object.resource != "leases" and each.verb != "watch"]
    assert [str(each) for each in found if each.user.username == OPERATORS] == []
    changes = [each for each in found if each.user.username == PROVIDERS and each.verb in CHANGES]
    assert [str(each) for each in changes if not reports_drift(each)] == []


def is_settled(log: Path) -> bool:
    """Whether nothing has been changed by us for a while: Ceph reports late."""
    logged = audit.requests(log, audit.Marker(), audit.Filter(verbs=CHANGES))
    ours = [
        each.received
        for each in logged
        if each.user.username in (OPERATORS, PROVIDERS) and not reports_drift(each)
    ]
    since = datetime.now(UTC) - datetime.fromisoformat(max(ours))
    return since.total_seconds() > SETTLED_SECONDS


def reports_drift(request: audit.Request) -> bool:
    """Whether K-ORC writes what it found in Keystone."""
    changed = request.object
    return changed.api_group == korc.USER.group and changed.subresource == "status"


def test_no_secret_leaks(lab: Lab) -> None:
    """Values of all Secrets are searched in objects, logs, command lines and environments."""
    secrets = dict(generated(lab))
    assert len(secrets) > 20
    for where, text in readable_texts(lab):
        found = [name for name, value in secrets.items() if value in text]
        assert not found, f"{where} contains {found}"


def generated(lab: Lab) -> Iterator[tuple[str, str]]:
    for obj in lab.get("secrets", "-n", NAMESPACE)["items"]:
        for key, value in (obj.get("data") or {}).items():
            text = base64.b64decode(value).decode(errors="replace").strip()
            lines = text.splitlines()
            if key in PUBLIC_KEYS or key.lower().endswith(("_id", "_host")):
                continue
            if len(lines) == 1 and SHORTEST_SECRET <= len(text) <= LONGEST_PASSWORD:
                yield f"{obj['metadata']['name']}/{key}", text
            elif len(lines) > 1 and "PRIVATE KEY" in lines[0]:
                yield f"{obj['metadata']['name']}/{key}", lines[1]


def readable_texts(lab: Lab) -> Iterator[tuple[str, str]]:
    """Texts that users and tools can read, with their source."""
    for kind in KINDS:
        yield kind, lab.kubectl("get", kind, "-A", "-o", "json")
    yield "objects of CobaltCore", lab.kubectl("get", "cobalt", "-A", "-o", "json")
    for pod in lab.get("pods", "-A")["items"]:
        meta = pod["metadata"]
        where = f"{meta['namespace']}/{meta['name']}"
        yield (
            f"log of {where}",
            lab.kubectl(
                "logs", "-n", meta["namespace"], meta["name"], "--all-containers", "--tail=-1"
            ),
        )
    for pid, line in lab.processes().items():
        yield f"command line of PID {pid}", line
        yield f"environment of PID {pid}, {line[:80]}", environment(pid)


def environment(pid: int) -> str:
    """What a process was started with; nothing if it has ended meanwhile."""
    try:
        return Path(f"/proc/{pid}/environ").read_text(errors="replace")
    except OSError:
        return ""


def test_no_container_takes_a_variable_from_a_secret(lab: Lab) -> None:
    """Pods that have ended are among them: Jobs keep theirs."""
    containers = {
        f"{pod['metadata']['name']}/{each['name']}": each
        for pod in lab.get("pods", "-n", NAMESPACE)["items"]
        for each in [*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])]
    }
    assert len(containers) > 20
    found = [
        name
        for name, each in containers.items()
        if "secretRef" in str(each.get("envFrom")) or "secretKeyRef" in str(each.get("env"))
    ]
    assert found == []
