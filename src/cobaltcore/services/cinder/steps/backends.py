"""Places where volumes are kept: Ceph pools and others, and a volume type for each. Pure."""

from collections.abc import Iterator
from typing import Any

from cobaltcore.api.cinder import Backend
from cobaltcore.engine import ceph, program, tasks
from cobaltcore.engine.definition import Facts, Result, SecretNeed, Task
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.engine.verdict import Ready, Verdict

PROGRAM = "volume_types.py"


def backends(facts: Facts) -> list[Backend]:
    """The backends in order."""
    return list(facts.spec.backends or ())


def exist(facts: Facts) -> bool:
    """Whether there are any."""
    return bool(backends(facts))


def pools(facts: Facts) -> list[ceph.Pool]:
    """Those that are in Ceph."""
    service = facts.service.name
    return [
        ceph.Pool(each.name, each.rbd, each.rbd.user or service)
        for each in backends(facts)
        if each.rbd is not None
    ]


def use_ceph(facts: Facts) -> bool:
    """Whether any backend is in Ceph."""
    return bool(pools(facts))


def needs(spec: Any) -> Iterator[SecretNeed]:
    """Keys of Ceph users."""
    for each in spec.backends or ():
        if each.rbd is not None:
            yield ceph.need(each.rbd, "cinder")


def types_program() -> dict[str, str]:
    """The program that makes volume types, for a ConfigMap."""
    return {PROGRAM: program.text("cobaltcore.services.cinder.programs", PROGRAM)}


def sections(facts: Facts) -> Sections:
    """One section of cinder.conf for each backend."""
    by_name = {pool.name: pool for pool in pools(facts)}
    return {
        each.name: {
            "volume_driver": each.driver,
            "volume_backend_name": each.name,
            **(_rbd(facts, by_name[each.name]) if each.name in by_name else {}),
            **each.config,
        }
        for each in backends(facts)
    }


def connected(facts: Facts) -> Result:
    """See that Cinder may use its pools."""
    found = ceph.connected(facts, pools(facts))
    return Result(found.verdict, found.objects, found.remove, _status(facts, found.verdict))


def types_made(facts: Facts) -> Result:
    """Have a volume type made for each backend."""
    names = tuple(each.name for each in backends(facts))
    command = ("python", f"{facts.service.config_dir}/{PROGRAM}", *names)
    task = Task("volume-types", command, prepares=True)
    ran = tasks.run_once(facts, task, running="TypesInProgress")
    # A backend in Ceph is as ready as its pool.
    status = {} if use_ceph(facts) else _status(facts, ran.verdict)
    if isinstance(ran.verdict, Ready):
        return Result(Ready("TypesAvailable", ", ".join(names)), ran.objects, status=status)
    return Result(ran.verdict, ran.objects, ran.remove, status)


def _status(facts: Facts, verdict: Verdict) -> dict[str, Any]:
    state = "Ready" if isinstance(verdict, Ready) else verdict.reason
    free = ceph.free_gibibytes(facts, pools(facts)) if use_ceph(facts) else {}
    found = []
    for each in backends(facts):
        told: dict[str, Any] = {"name": each.name, "status": state}
        if each.rbd is not None and each.rbd.pool in free:
            told["availableCapacityGb"] = free[each.rbd.pool]
        found.append(told)
    return {"backends": found}


def _rbd(facts: Facts, pool: ceph.Pool) -> dict[str, str]:
    return {
        "rbd_pool": pool.rbd.pool,
        "rbd_user": pool.user,
        "rbd_ceph_conf": pool.configuration,
        "rbd_secret_uuid": ceph.libvirt_secret(facts.key.namespace, pool.user),
        "rbd_flatten_volume_from_snapshot": "false",
        "report_discard_supported": "true",
    }
