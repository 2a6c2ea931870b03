"""All lab providers for one control plane: applied to Ready, and their memory. Needs root."""

import statistics
from collections.abc import Iterator

from tests.bench import measure, progress
from tests.bench.figures import Baseline, Figure, Goal, Options
from tests.support import lab_ceph, lab_providers, workloads
from tests.support.lab import Lab, eventually
from tests.support.lab_ceph import LabCeph

READY_GOAL_SECONDS = 25.0
MEMORY_GOAL_MEBIBYTES = 1400.0
SERVERS = ("mariadb", "rabbitmq", "valkey")
CLUSTER_WIDE = ("Namespace", "ClusterIssuer", "ClusterSecretStore")
# What is reported last for each: everything that it depends on is ready by then.
LAST = (
    ("grants.k8s.mariadb.com", "keystone", "Ready"),
    ("permissions.rabbitmq.com", "nova", "Ready"),
    ("rabbitmqclusters.rabbitmq.com", "mq", "AllReplicasReady"),
    ("valkeys.cache.cs.sap.com", "cache", "Ready"),
)


def figures(options: Options) -> Iterator[Figure]:
    """Bring everything up several times, each in a namespace of its own."""
    if not measure.is_root():
        return
    with measure.lab() as lab:
        lab.up(until="operators")
        images = lab_providers.images(lab, ["ceph", *SERVERS])
        # Nodes pull images in the first round, which does not count.
        _round(lab, "warm-up", images)
        rounds = [_round(lab, f"bench-{n}", images) for n in range(1 if options.quick else 3)]
        bare = Baseline("one bare pod", measure.seconds(lambda: _bare_pod(lab, images["valkey"])))
    value = round(statistics.median(each["ready"] for each in rounds), 1)
    name = "providers: database, broker, cache, Ceph, certificates, secrets: applied to Ready"
    yield Figure(name, value, "s", bare, Goal(READY_GOAL_SECONDS))
    memory = round(statistics.median(each["memory"] for each in rounds))
    own = round(statistics.median(each["own"] for each in rounds))
    yield Figure(
        "providers: memory of all servers and providers (PSS)",
        memory,
        "MiB",
        Baseline("the providers' process alone", own),
        Goal(MEMORY_GOAL_MEBIBYTES),
    )


def _round(lab: Lab, namespace: str, images: dict[str, str]) -> dict[str, float]:
    lab.kubectl("create", "namespace", namespace)
    ceph = LabCeph(lab, namespace, images)
    before = set(lab.processes())
    ready = measure.seconds(lambda: _create(lab, ceph))
    found = lab.processes()
    own = [pid for pid, line in found.items() if "cobalt providers" in line]
    memory = measure.mebibytes([pid for pid in found if pid not in before] + own)
    progress.report(f"  {ready:.1f} s, {memory:.0f} MiB")
    _delete(lab, ceph)
    return {"ready": ready, "memory": memory, "own": measure.mebibytes(own)}


def _create(lab: Lab, ceph: LabCeph) -> None:
    namespace = ceph.namespace
    objects = [each for name in SERVERS for each in lab_providers.example(name)]
    ceph.create()
    lab.create(namespace, *objects)
    for name in ("certificates", "secrets"):
        lab.kubectl("apply", "-f", "-", input=workloads.text(*lab_providers.example(name)))
    for kind, name, condition in LAST:
        lab_providers.wait_for(lab, namespace, kind, name, condition=condition)
    lab_providers.wait_for(lab, "openstack", "certificate", "keystone-api")
    eventually(lambda: lab.get("secret", "-n", "orc-system", "k-orc-clouds-yaml"), "the value")
    ceph.wait()


def _delete(lab: Lab, ceph: LabCeph) -> None:
    here = ("-n", ceph.namespace)
    for kind, name, _ in LAST:
        lab.kubectl("delete", kind, *here, name)
    for name in (*SERVERS, "certificates", "secrets"):
        objects = [o for o in lab_providers.example(name) if o["kind"] not in CLUSTER_WIDE]
        text = workloads.text(*objects)
        where = here if name in SERVERS else ()
        lab.kubectl("delete", "--ignore-not-found", *where, "-f", "-", input=text)
    ceph.delete()
    lab.kubectl("delete", "namespace", ceph.namespace)
    eventually(lambda: not set(ceph.pids()) & set(lab_ceph.DAEMONS), "the daemons are gone")


def _bare_pod(lab: Lab, image: str) -> None:
    lab.create("default", workloads.pod("bare", image))
    lab.wait_for_pod("default", "bare")
