"""Check that users of Ceph may use their pools: CONF:USER:POOL...

The last line of a failure names what is wrong; a success leaves the free space of each pool, in
GiB, as the termination message.
"""

import json
from collections.abc import Sequence

import rados
import rbd

from cobaltcore.agents import termination, waiting

TIMEOUT_SECONDS = "20"
REPORT_SECONDS = 60.0
LIMITS = dict.fromkeys(
    ("client_mount_timeout", "rados_mon_op_timeout", "rados_osd_op_timeout"), TIMEOUT_SECONDS
)

DENIED = (rados.PermissionDeniedError, rados.PermissionError, rbd.PermissionError)


def free_gibibytes(configuration: str, user: str, pool: str) -> int:
    """Use the pool as the service will; how much room is left in it."""
    with rados.Rados(conffile=configuration, rados_id=user, conf=LIMITS) as cluster:
        with cluster.open_ioctx(pool) as context:
            rbd.RBD().list(context)
        # Monitors report a new pool some seconds after it can be used.
        if not waiting.wait_until(
            lambda: pool in free_bytes(cluster), interval=1.0, timeout=REPORT_SECONDS
        ):
            raise rados.Error(f"the monitors report no free space of pool {pool!r}")
        return free_bytes(cluster)[pool] // 2**30


def free_bytes(cluster: rados.Rados) -> dict[str, int]:
    """How much room is left in each pool that the monitors have numbers of."""
    request = json.dumps({"prefix": "df", "format": "json"})
    code, answer, problem = cluster.mon_command(request, b"")
    if code:
        raise rados.Error(problem)
    return {each["name"]: int(each["stats"]["max_avail"]) for each in json.loads(answer)["pools"]}


def problem(user: str, pool: str, error: Exception) -> str:
    """What went wrong, beginning with the reason that the operator reports."""
    if isinstance(error, rados.ObjectNotFound):
        return f"PoolNotFound: there is no pool {pool!r}"
    if isinstance(error, DENIED):
        return f"AccessDenied: client.{user} may not use {pool!r}: {error}"
    return f"Unreachable: Ceph did not answer client.{user}: {error}"


def main(arguments: Sequence[str]) -> str | None:
    """Look at every pool; the problem with the first that cannot be used."""
    found = {}
    for argument in arguments:
        configuration, user, pool = argument.split(":")
        try:
            found[pool] = free_gibibytes(configuration, user, pool)
        except (rados.Error, rbd.Error) as error:
            return problem(user, pool, error)
    termination.write(json.dumps(found, sort_keys=True))
    return None
