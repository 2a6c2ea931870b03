"""How a service reaches Ceph: its key, the monitors, and the proof that it may use a pool. Pure."""

import uuid
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP
from cobaltcore.api.storage import Rbd
from cobaltcore.engine import access, program, references, tasks
from cobaltcore.engine.definition import Facts, NotYet, Result, SecretNeed, Task
from cobaltcore.engine.desired import inifile, secret
from cobaltcore.engine.verdict import Ready, Waiting
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import Key

DIRECTORY = "/etc/ceph"
PROBE = "ceph_probe.py"
REASONS = ("PoolNotFound", "AccessDenied", "Unreachable")
"""How the probe's last line begins."""


class Pool(NamedTuple):
    """A pool under the name of the files that lead to it."""

    name: str
    rbd: Rbd
    user: str

    @property
    def configuration(self) -> str:
        """The ceph.conf of this pool."""
        return f"{DIRECTORY}/{self.name}.conf"


def need(rbd: Rbd, service: str) -> SecretNeed:
    """The Secret with the user's key, under any of the names that people use."""
    user = rbd.user or service
    keys = (rbd.ceph_secret_ref.key,) if rbd.ceph_secret_ref.key else key_names(user)
    return SecretNeed(rbd.ceph_secret_ref.name, (keys,), "Ceph key")


def program_file() -> dict[str, str]:
    """The probe, for the ConfigMap of the service."""
    return {PROBE: program.text("cobaltcore.engine.programs", PROBE)}


def secret_files(facts: Facts, pools: Iterable[Pool]) -> dict[str, dict[str, str]]:
    """Where clients of Ceph look: how to reach it, and with which key."""
    files: dict[str, str] = {}
    for pool in pools:
        keyring = f"{DIRECTORY}/{pool.name}.keyring"
        own = inifile.render({f"client.{pool.user}": {"keyring": keyring}})
        files[f"{pool.name}.conf"] = f"{_configuration(facts, pool)}\n{own}"
        files[f"{pool.name}.keyring"] = inifile.render(
            {f"client.{pool.user}": {"key": key(facts, pool)}}
        )
    return {DIRECTORY: files} if files else {}


def key(facts: Facts, pool: Pool) -> str:
    """The user's key alone."""
    reference = pool.rbd.ceph_secret_ref
    content = secret.texts(access.secret_content(facts, reference.name))
    wanted = (reference.key,) if reference.key else key_names(pool.user)
    found = next(content[name] for name in wanted if name in content)
    lines = [line.partition("=") for line in found.splitlines() if "=" in line]
    in_keyring = [value.strip() for name, _, value in lines if name.strip() == "key"]
    return in_keyring[0] if in_keyring else found.strip()


def libvirt_secret(namespace: str, user: str) -> str:
    """The name under which libvirt knows a user's key, the same for whoever asks."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"ceph:{namespace}/client.{user}"))


def connected(facts: Facts, pools: Iterable[Pool]) -> Result:
    """Use the pools once with the service's own key."""
    wanted = list(pools)
    ran = tasks.run_once(facts, _probe(facts, wanted), running="Connecting")
    if isinstance(ran.verdict, Ready):
        names = ", ".join(sorted({each.rbd.pool for each in wanted}))
        return Result(Ready("PoolAccessible", f"pools: {names}"), ran.objects)
    for reason in REASONS:
        if f"{reason}: " in ran.verdict.message and isinstance(ran.verdict, Waiting):
            verdict = Waiting(reason, ran.verdict.message, after=ran.verdict.after)
            return Result(verdict, ran.objects, ran.remove)
    return ran


def free_gibibytes(facts: Facts, pools: Iterable[Pool]) -> Mapping[str, int]:
    """Room that the probe found, by the name of the Ceph pool; empty before it looked."""
    ran = tasks.run_once(facts, _probe(facts, list(pools)), running="Connecting")
    if not isinstance(ran.verdict, Ready) or not ran.verdict.message:
        return {}
    return msgspec.json.decode(ran.verdict.message, type=dict[str, int])


def _probe(facts: Facts, pools: list[Pool]) -> Task:
    arguments = [f"{each.configuration}:{each.user}:{each.rbd.pool}" for each in pools]
    path = f"{facts.service.config_dir}/{PROBE}"
    return Task(
        "ceph-check",
        ("python", path, *arguments),
        inputs=digest(secret_files(facts, pools)),
    )


def key_names(user: str) -> tuple[str, ...]:
    """Under which names a Secret may hold a user's key."""
    return (user, "keyring", "userKey", "key")


def _configuration(facts: Facts, pool: Pool) -> str:
    given = secret.texts(access.secret_content(facts, pool.rbd.ceph_secret_ref.name))
    if "ceph.conf" in given:
        return given["ceph.conf"].rstrip("\n") + "\n"
    monitors = given.get("mon_host") or given.get("monitors") or _monitors_of_rook(facts, pool)
    return inifile.render({"global": {"mon_host": monitors, "log_to_stderr": "true"}})


def _monitors_of_rook(facts: Facts, pool: Pool) -> str:
    name = pool.rbd.ceph_secret_ref.name
    missing = f"Secret {name!r} has no key 'ceph.conf' or 'mon_host'"
    client = pool.rbd.ceph_client_ref
    if client is None:
        raise NotYet("MonitorsUnknown", f"{missing}, and no cephClientRef leads to them")
    where = Key(client.namespace or facts.key.namespace, references.MONITORS)
    found = facts.observed.content(CONFIG_MAP, where)
    if found is None:
        raise NotYet("MonitorsUnknown", f"{missing}, and ConfigMap {where} does not exist")
    listed = found["data"]["data"]
    return ",".join(each.partition("=")[2] for each in listed.split(",") if each)
