"""Ceph in the lab: from applied objects to a cluster that works, and back after a kill. Needs root."""

import statistics
from collections.abc import Iterator

from tests.bench import measure, progress
from tests.bench.figures import Figure, Goal, Options
from tests.support import lab_providers
from tests.support.lab_ceph import LabCeph

# Bare processes without Kubernetes, as measured once for these settings.
BARE_START_SECONDS = 8.7
BARE_RESTART_SECONDS = 8.3


def figures(options: Options) -> Iterator[Figure]:
    """Bring clusters up and kill them, each in a namespace of its own."""
    if not measure.is_root():
        return
    with measure.lab() as lab:
        lab.up(until="operators")
        images = lab_providers.images(lab, ["ceph", "libvirt"])
        rounds = 1 if options.quick else 3
        found = [_round(LabCeph(lab, f"ceph-{n}", images)) for n in range(rounds)]
    names = {
        "gate": ("ceph: applied to gate, with 2 pools and 2 users", BARE_START_SECONDS),
        "again": ("ceph: all daemons killed to gate", BARE_RESTART_SECONDS),
    }
    for key, (name, limit) in names.items():
        value = round(statistics.median(each[key] for each in found), 1)
        yield Figure(name, value, "s", goal=Goal(limit))
    memory = round(statistics.median(each["memory"] for each in found))
    yield Figure("ceph: memory of the daemons (PSS)", memory, "MiB")


def _round(ceph: LabCeph) -> dict[str, float]:
    ceph.lab.kubectl("create", "namespace", ceph.namespace)
    gate = measure.seconds(ceph.create, ceph.wait, ceph.wait_until_clean)
    memory = measure.mebibytes(ceph.pids().values())
    again = measure.seconds(ceph.kill_daemons, ceph.wait_until_clean)
    progress.report(f"  {gate:.1f} s, again {again:.1f} s, {memory:.0f} MiB")
    ceph.delete()
    ceph.lab.kubectl("delete", "namespace", ceph.namespace)
    return {"gate": gate, "again": again, "memory": memory}
