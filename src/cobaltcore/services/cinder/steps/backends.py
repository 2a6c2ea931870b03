"""Places where volumes are kept: Ceph pools and others, and a volume type for each. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from cobaltcore.api.cinder import Backend, BackendStatus, CinderSpec, CinderStatus
from cobaltcore.engine import ceph, jobs
from cobaltcore.engine.definition import Result, SecretNeed, ServiceScope, Task
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.engine.verdict import Ready, Verdict


def backends(scope: ServiceScope[CinderSpec]) -> list[Backend]:
    """The backends in order."""
    return list(scope.spec.backends or ())


def exist(scope: ServiceScope[CinderSpec]) -> bool:
    """Whether there are any."""
    return bool(backends(scope))


def pools(scope: ServiceScope[CinderSpec]) -> list[ceph.Pool]:
    """Those that are in Ceph."""
    service = scope.service.name
    return [
        ceph.Pool(each.name, each.rbd, each.rbd.ceph_user(service))
        for each in backends(scope)
        if each.rbd is not None
    ]


def use_ceph(scope: ServiceScope[CinderSpec]) -> bool:
    """Whether any backend is in Ceph."""
    return bool(pools(scope))


def needs(spec: CinderSpec) -> Iterator[SecretNeed]:
    """Keys of Ceph users."""
    for each in spec.backends or ():
        if each.rbd is not None:
            yield ceph.need(each.rbd, "cinder")


def sections(scope: ServiceScope[CinderSpec]) -> Sections:
    """One section of cinder.conf for each backend."""
    by_name = {pool.name: pool for pool in pools(scope)}
    return {
        each.name: {
            "volume_driver": each.driver,
            "volume_backend_name": each.name,
            **(_rbd(scope, by_name[each.name]) if each.name in by_name else {}),
            **each.config,
        }
        for each in backends(scope)
    }


def connected(scope: ServiceScope[CinderSpec]) -> Result:
    """See that Cinder may use its pools."""
    found = ceph.connected(scope, pools(scope))
    capacity = ceph.capacity(scope, pools(scope))
    verdict = found.verdict
    if isinstance(verdict, Ready):
        verdict = replace(verdict, after=capacity.after)
    return Result(
        verdict,
        [*found.objects, *capacity.objects],
        [*found.removals, *capacity.removals],
        _status(scope, verdict, capacity.free_gibibytes),
    )


def volume_types(scope: ServiceScope[CinderSpec]) -> Result:
    """Create a volume type for each backend."""
    names = tuple(each.name for each in backends(scope))
    command = ("cobalt-agent", "cinder", "volume-types", *names)
    task = Task("volume-types", command, before_keystone=True)
    ran = jobs.run_once(scope, task, running="TypesInProgress")
    # A backend in Ceph is as ready as its pool.
    status: dict[str, object] = {} if use_ceph(scope) else _status(scope, ran.verdict)
    if isinstance(ran.verdict, Ready):
        return Result(Ready("TypesAvailable", ", ".join(names)), ran.objects, status=status)
    return Result(ran.verdict, ran.objects, ran.removals, status)


def _status(
    scope: ServiceScope[CinderSpec],
    verdict: Verdict,
    free: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, object]:
    """A capacity that is measured again stays until the new one is known."""
    state = "Ready" if isinstance(verdict, Ready) else verdict.reason
    reported = scope.status.backends if isinstance(scope.status, CinderStatus) else []
    before = {each.name: each.available_capacity_gb for each in reported}
    report = [
        BackendStatus(
            name=each.name,
            status=state,
            available_capacity_gb=free.get(each.rbd.pool, before.get(each.name))
            if each.rbd is not None
            else None,
        )
        for each in backends(scope)
    ]
    return {"backends": report}


def _rbd(scope: ServiceScope[CinderSpec], pool: ceph.Pool) -> dict[str, str]:
    return {
        "rbd_pool": pool.rbd.pool,
        "rbd_user": pool.user,
        "rbd_ceph_conf": pool.configuration,
        # By this name os-brick finds the keyring.
        "rbd_cluster_name": pool.name,
        "rbd_secret_uuid": ceph.libvirt_secret(scope.namespace, pool.user),
        "rbd_flatten_volume_from_snapshot": "false",
        "report_discard_supported": "true",
    }
