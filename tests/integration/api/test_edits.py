"""The random edits of the tests in a lab are legal, one after the other, and the same for a seed."""

import json
from itertools import pairwise
from typing import Any

from cobaltcore.api.controlplane import KIND
from cobaltcore.operators.controlplane import options
from cobaltlab.cloud import objects
from tests.support import edits
from tests.support.control_plane import ControlPlaneHarness

IMAGES = {name: f"{name}@sha256:{'0' * 64}" for name in edits.SERVICES}


def a_plane(namespace: str) -> dict[str, Any]:
    """The ControlPlane of a lab."""
    *_, found = objects.control_plane(IMAGES)
    body = dict(found.body)
    kind = {"apiVersion": KIND.api_version, "kind": KIND.kind}
    return {**kind, **body, "metadata": {**body["metadata"], "namespace": namespace}}


def test_edits_are_accepted_and_change_something(
    installed_crds: ControlPlaneHarness, namespace: str
) -> None:
    manifest = a_plane(namespace)
    installed_crds.kubectl("create", "-f", "-", input=json.dumps(manifest))
    stored = json.loads(
        installed_crds.kubectl("get", "controlplane", "lab", "-n", namespace, "-o", "json")
    )["spec"]
    specs = [spec for _, spec in edits.sequence(19, 15, stored)]
    assert all(before != after for before, after in pairwise([stored, *specs]))
    for spec in specs:
        assert not list(options.problems({"spec": spec}))
        installed_crds.kubectl("replace", "-f", "-", input=json.dumps({**manifest, "spec": spec}))


def test_every_kind_of_edit_is_drawn_and_a_seed_repeats_it() -> None:
    spec = a_plane("openstack")["spec"]
    spec["services"].setdefault("cinder", {})
    names = [name for name, _ in edits.sequence(19, 30, spec)]
    assert len(set(names)) >= 8
    assert names == [name for name, _ in edits.sequence(19, 30, spec)]
