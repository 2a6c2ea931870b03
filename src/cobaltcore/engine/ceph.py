"""How a service reaches Ceph: its key, the monitors, and a check that it can use its pools. Pure."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import PurePath
from typing import NamedTuple

import msgspec

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, JOB
from cobaltcore.api.storage import Rbd
from cobaltcore.engine import access, jobs, references
from cobaltcore.engine.definition import AnyScope, Result, SecretNeed, Task
from cobaltcore.engine.desired import inifile, secret
from cobaltcore.engine.plan import Removal
from cobaltcore.engine.verdict import DependencyPending, Ready, Waiting
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import Desired, Key
from cobaltcore.runtime.timestamps import parse_timestamp

DIRECTORY = "/etc/ceph"
CAPACITY_EVERY = timedelta(hours=1)
CLONES = {"rbd_default_clone_format": "2"}
"""Images and snapshots can be deleted while volumes and disks that were cloned from them live."""
REASONS = ("PoolNotFound", "AccessDenied", "Unreachable")
"""Prefix of the last line of `cobalt-agent ceph check`."""


class Pool(NamedTuple):
    """A pool under the name of the files that lead to it: Ceph calls that the cluster's name."""

    name: str
    rbd: Rbd
    user: str

    @property
    def configuration(self) -> str:
        """The ceph.conf of this pool."""
        return f"{DIRECTORY}/{self.name}.conf"

    @property
    def keyring(self) -> str:
        """The user's key where clients of Ceph look unasked; os-brick looks nowhere else."""
        return f"{DIRECTORY}/{self.name}.client.{self.user}.keyring"


class Capacity(NamedTuple):
    """Free space of pools in GiB by their names; empty until it is measured."""

    free_gibibytes: Mapping[str, int]
    after: timedelta | None = None
    """When it is measured again."""
    objects: Sequence[Desired] = ()
    removals: Sequence[Removal] = ()


def need(rbd: Rbd, service: str) -> SecretNeed:
    """The Secret with the user's key, under any of the names that people use."""
    user = rbd.ceph_user(service)
    keys = (rbd.ceph_secret_ref.key,) if rbd.ceph_secret_ref.key else key_names(user)
    return SecretNeed(rbd.ceph_secret_ref.name, (keys,), "Ceph key")


def secret_files(scope: AnyScope, pools: Iterable[Pool]) -> dict[str, dict[str, str]]:
    """Where clients of Ceph look: how to reach it, and with which key."""
    files: dict[str, str] = {}
    for pool in pools:
        own = inifile.render({f"client.{pool.user}": {"keyring": pool.keyring, **CLONES}})
        files[PurePath(pool.configuration).name] = f"{_configuration(scope, pool)}\n{own}"
        files[PurePath(pool.keyring).name] = inifile.render(
            {f"client.{pool.user}": {"key": key(scope, pool)}}
        )
    return {DIRECTORY: files} if files else {}


def key(scope: AnyScope, pool: Pool) -> str:
    """The user's key alone."""
    reference = pool.rbd.ceph_secret_ref
    content = secret.texts(access.secret_content(scope, reference.name))
    wanted = (reference.key,) if reference.key else key_names(pool.user)
    found = next(content[name] for name in wanted if name in content)
    lines = [line.partition("=") for line in found.splitlines() if "=" in line]
    in_keyring = [value.strip() for name, _, value in lines if name.strip() == "key"]
    return in_keyring[0] if in_keyring else found.strip()


def libvirt_secret(namespace: str, user: str) -> str:
    """The name under which libvirt knows a user's key, the same for every service."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"ceph:{namespace}/client.{user}"))


def connected(scope: AnyScope, pools: Iterable[Pool]) -> Result:
    """Use the pools once with the service's own key."""
    wanted = list(pools)
    ran = jobs.run_once(scope, _probe(scope, wanted), running="Connecting")
    if isinstance(ran.verdict, Ready):
        names = ", ".join(sorted({each.rbd.pool for each in wanted}))
        return Result(Ready("PoolAccessible", f"pools: {names}"), ran.objects)
    for reason in REASONS:
        if f"{reason}: " in ran.verdict.message and isinstance(ran.verdict, Waiting):
            verdict = Waiting(reason, ran.verdict.message, after=ran.verdict.after)
            return Result(verdict, ran.objects, ran.removals)
    return ran


def capacity(scope: AnyScope, pools: Iterable[Pool]) -> Capacity:
    """Free space of the pools: that of the check, and a new measurement every hour after it."""
    check = _probe(scope, list(pools))
    ran = jobs.run_once(scope, check, running="Connecting")
    found = scope.observed.get(JOB, ran.objects[0].key) if ran.objects else None
    if found is None or not isinstance(ran.verdict, Ready):
        return Capacity({})
    age = scope.now - parse_timestamp(found["metadata"]["creationTimestamp"])
    count = age // CAPACITY_EVERY
    after = (count + 1) * CAPACITY_EVERY - age
    if count > 0:
        again = replace(check, name="ceph-capacity", inputs=[check.inputs, count])
        ran = jobs.run_once(scope, again, running="Measuring")
        if not isinstance(ran.verdict, Ready):
            return Capacity({}, after, ran.objects, ran.removals)
    free = msgspec.json.decode(ran.verdict.message or "{}", type=dict[str, int])
    return Capacity(free, after, ran.objects)


def _probe(scope: AnyScope, pools: list[Pool]) -> Task:
    arguments = [f"{each.configuration}:{each.user}:{each.rbd.pool}" for each in pools]
    return Task(
        "ceph-check",
        ("cobalt-agent", "ceph", "check", *arguments),
        inputs=digest(secret_files(scope, pools)),
    )


def key_names(user: str) -> tuple[str, ...]:
    """Under which names a Secret may hold a user's key."""
    return (user, "keyring", "userKey", "key")


def _configuration(scope: AnyScope, pool: Pool) -> str:
    content = secret.texts(access.secret_content(scope, pool.rbd.ceph_secret_ref.name))
    if "ceph.conf" in content:
        return content["ceph.conf"].rstrip("\n") + "\n"
    monitors = (
        ",".join(pool.rbd.monitors or ())
        or content.get("mon_host")
        or content.get("monitors")
        or _monitors_of_rook(scope, pool)
    )
    return inifile.render({"global": {"mon_host": monitors, "log_to_stderr": "true"}})


def _monitors_of_rook(scope: AnyScope, pool: Pool) -> str:
    name = pool.rbd.ceph_secret_ref.name
    missing = f"Secret {name!r} has no key 'ceph.conf' or 'mon_host'"
    client = pool.rbd.ceph_client_ref
    if client is None:
        raise DependencyPending("MonitorsUnknown", f"{missing}, and no cephClientRef names them")
    where = Key(client.namespace or scope.namespace, references.MONITORS)
    found = scope.observed.content(CONFIG_MAP, where)
    if found is None:
        raise DependencyPending(
            "MonitorsUnknown", f"{missing}, and ConfigMap {where} does not exist"
        )
    listed = found["data"]["data"]
    return ",".join(each.partition("=")[2] for each in listed.split(",") if each)
