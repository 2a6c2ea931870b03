"""Random edits of a ControlPlane under load: each converges or is explained, and no request fails.

COBALT_EDITS_SEED and COBALT_EDITS_COUNT choose the edits. Requests may fail only while an edit is
made of which `cobalt plan` named the interruption before.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.support import edits
from tests.support.cloud import NAMESPACE, PLANE, Cloud
from tests.support.lab import Lab, eventually
from tests.support.predictions import KINDS, Change, Objects, contents, observed, predicted

SEED = int(os.environ.get("COBALT_EDITS_SEED", "19"))
COUNT = int(os.environ.get("COBALT_EDITS_COUNT", "30"))
CONVERGED_SECONDS = 480.0
UNEXPLAINED = "no cause is named"
APIS = {
    "identity": "keystone",
    "image": "glance",
    "placement": "placement",
    "compute": "nova",
    "network": "neutron",
    "block_storage": "cinder",
}
"""The service of each API that is asked."""


@dataclass
class Load:
    """What the program that asks APIs reports when it ends."""

    sent: int = 0
    failed: list[tuple[float, str, str]] = field(default_factory=list)


@dataclass
class Edit:
    """One edit and what happened."""

    name: str
    plan: dict[str, Any]
    began: float
    ended: float = 0.0
    differs: set[Change] = field(default_factory=set)
    why: str = ""

    def excuses(self, api: str) -> bool:
        """Whether the plan named an interruption of an API."""
        named = {re.findall(r"'(\w+)", each)[0] for each in self.plan["interruptions"]}
        # Without a database or a broker no API works.
        return APIS[api] in named or not named <= set(APIS.values())


def test_edits_converge_and_interrupt_nothing_that_the_plan_did_not_name(
    cloud: Cloud, tmp_path: Path, report: Callable[[str], None]
) -> None:
    settled(cloud)
    made, draw = [], Random(SEED)
    with loading(cloud) as load:
        for _ in range(COUNT):
            name, spec = edits.drawn(draw, cloud.plane()["spec"])
            made.append(make(cloud, name, spec, tmp_path / "edit.json"))
            report(line(made[-1], len(made)))
    lost = [
        f"{edit.name}: {api}: {error}"
        for moment, api, error in load.failed
        for edit in made
        if edit.began <= moment <= edit.ended and not edit.excuses(api)
    ]
    report(f"{COUNT} edits with seed {SEED}: {load.sent} requests, {len(load.failed)} failed, "
           f"{len(lost)} of them unexpected")  # fmt: skip
    assert load.sent > 10 * COUNT
    assert lost == []
    assert [each.name for each in made if each.why == UNEXPLAINED] == []
    assert {each.name: each.differs for each in made if each.differs and not each.why} == {}


def make(cloud: Cloud, name: str, spec: dict[str, Any], file: Path) -> Edit:
    """Plan an edit, apply it, and wait until nothing changes any more."""
    before = settled(cloud)
    meta = {"name": PLANE, "namespace": NAMESPACE}
    manifest = {k: cloud.plane()[k] for k in ("apiVersion", "kind")} | {"metadata": meta}
    file.write_text(json.dumps({**manifest, "spec": spec}))
    code, text = cobalt(cloud.lab, "plan", "-f", str(file), "-o", "json")
    assert code == 2, f"{name}: {text}"
    edit = Edit(name, json.loads(text), time.time())
    cloud.change(**spec)
    try:
        edit.differs = predicted(edit.plan) ^ observed(before, settled(cloud))
    except AssertionError:
        edit.why = cause(cloud.lab)
        back = {**manifest, "spec": undo(before)}
        cloud.lab.kubectl("replace", "-f", "-", input=json.dumps(back))
        settled(cloud)
    edit.ended = time.time()
    return edit


def cause(lab: Lab) -> str:
    """What `cobalt why` names as the cause that the control plane is not Ready."""
    _, text = cobalt(lab, "why", f"controlplane/{PLANE}", "-n", NAMESPACE, "-o", "json")
    named = json.loads(text).get("cause")
    if not named:
        return UNEXPLAINED
    return f"{named['kind']}/{named['name']}: {named['reason']}: {named['message']}"


def undo(before: Objects) -> dict[str, Any]:
    """The spec before an edit that did not converge."""
    found: dict[str, Any] = before["ControlPlane c5c3.io/v1alpha1", PLANE]["spec"]
    return found


def settled(cloud: Cloud) -> Objects:
    """All objects, once the control plane is Ready and nothing changes any more."""
    seen: list[Objects] = [{}]

    def is_settled() -> bool:
        before, seen[0] = seen[0], snapshot(cloud.lab)
        return before == seen[0] and cloud.is_ready()

    eventually(is_settled, "the control plane is settled", seconds=CONVERGED_SECONDS)
    return seen[0]


def snapshot(lab: Lab) -> Objects:
    served = lab.kubectl("api-resources", "--verbs=list", "--namespaced", "-o", "name").split()
    kinds = ",".join(each for each in KINDS if each in served)
    return contents(lab.get(kinds, "-n", NAMESPACE)["items"])


def cobalt(lab: Lab, *arguments: str) -> tuple[int, str]:
    """Run the product's command against the lab."""
    environment = {**lab.environment, "KUBECONFIG": str(lab.state_dir.kubeconfig)}
    command = [sys.executable, "-m", "cobaltcore.cli.main", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout or done.stderr


def line(edit: Edit, number: int) -> str:
    changes, restarts = len(edit.plan["changes"]), len(edit.plan["restarts"])
    outcome = f"not converged: {edit.why}" if edit.why else f"{edit.ended - edit.began:.0f} s"
    differs = f", differs: {sorted(edit.differs)}" if edit.differs else ""
    named = f", named: {edit.plan['interruptions']}" if edit.plan["interruptions"] else ""
    return (
        f"{number}. {edit.name}: {changes} changes, {restarts} restarts{named}: {outcome}{differs}"
    )


@contextmanager
def loading(cloud: Cloud) -> Iterator[Load]:
    """Two requests a second to each of six APIs during the `with` block."""
    found, stop = Load(), "/tmp/stop-load"
    source = (Path(__file__).parent / "agents/load.py").read_text()
    with ThreadPoolExecutor(1) as pool:
        requests = pool.submit(cloud.python, source, stop)
        try:
            yield found
        finally:
            cloud.python(f"open({stop!r}, 'w')")
    result = json.loads(requests.result().splitlines()[-1])
    found.sent = result["sent"]
    found.failed = [(moment, api, error) for moment, api, error in result["failed"]]
