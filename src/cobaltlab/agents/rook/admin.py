"""Executes administrative requests to Ceph: JSON on stdin, results on stdout.

Runs in the monitor's container. One connection serves all requests of a call, and waiting for a
state of the cluster happens here, next to the monitor.
"""

import contextlib
import importlib
import json
import sys
from collections.abc import Sequence
from typing import Any

from cobaltcore.agents import waiting

POLL_SECONDS = 0.1
TIMEOUTS = {
    "client_mount_timeout": "5",
    "rados_mon_op_timeout": "10",
    "rados_osd_op_timeout": "10",
}


def is_up(status: dict[str, Any]) -> bool:
    """Whether all OSDs are up and in."""
    osds = status["osdmap"]
    return bool(osds["num_osds"] == osds["num_up_osds"] == osds["num_in_osds"] > 0)


def is_clean(status: dict[str, Any]) -> bool:
    """Whether I/O works; HEALTH_OK alone comes before the placement groups are active."""
    states = {each["state_name"] for each in status["pgmap"].get("pgs_by_state", ())}
    return (
        bool(status["mgrmap"].get("available"))
        and is_up(status)
        and status["health"]["status"] != "HEALTH_ERR"
        and states == {"active+clean"}
    )


STATES = {"up": is_up, "clean": is_clean}


class Session:
    """A connection to the cluster as its administrator."""

    def __init__(self) -> None:
        self._rados = importlib.import_module("rados")
        self._rbd = importlib.import_module("rbd")
        self._cluster = self._rados.Rados(
            conffile="/etc/ceph/ceph.conf", name="client.admin", conf=TIMEOUTS
        )
        self._cluster.connect()

    def close(self) -> None:
        self._cluster.shutdown()

    def execute(self, request: dict[str, Any]) -> dict[str, Any]:
        if "command" in request:
            return self._command(request["command"])
        try:
            with contextlib.closing(self._cluster.open_ioctx(request["pool"])) as pool:
                if request["images"] == "init":
                    self._rbd.RBD().pool_init(pool, False)  # noqa: FBT003 API of librbd
                    return {"code": 0}
                names = [*self._rbd.RBD().list(pool), *self._trash(pool)]
                return {"code": 0, "output": names}
        except (self._rados.Error, self._rbd.Error) as error:
            return {"code": -abs(getattr(error, "errno", None) or 5), "message": str(error)}

    def status(self) -> dict[str, Any]:
        """The output of `ceph status`."""
        found = self._command({"prefix": "status", "format": "json"})
        if found["code"]:
            raise RuntimeError(found["message"])
        output: dict[str, Any] = found["output"]
        return output

    def _command(self, command: dict[str, Any]) -> dict[str, Any]:
        code, output, message = self._cluster.mon_command(json.dumps(command), b"")
        decoded: Any = output.decode()
        if command.get("format") == "json" and decoded.strip():
            decoded = json.loads(decoded)
        return {"code": code, "output": decoded, "message": message}

    def _trash(self, pool: Any) -> list[str]:
        return [each["name"] for each in self._rbd.RBD().trash_list(pool)]


def serve(session: Session, call: dict[str, Any]) -> dict[str, Any]:
    """Wait for a state of the cluster, then execute requests until one fails."""
    status: dict[str, Any] = {}
    in_state = STATES.get(call.get("until", ""), lambda _: True)

    def is_reached() -> bool:
        nonlocal status
        status = session.status()
        return in_state(status)

    reached = waiting.wait_until(is_reached, interval=POLL_SECONDS, timeout=call.get("seconds", 0))
    results: list[dict[str, Any]] = []
    for request in call["requests"] if reached else ():
        results.append(session.execute(request))
        if results[-1]["code"]:
            break
    return {"status": status, "results": results}


def main(_: Sequence[str]) -> int:
    try:
        session = Session()
        try:
            result = serve(session, json.load(sys.stdin))
        finally:
            session.close()
    except Exception as error:  # noqa: BLE001 the caller reports the message
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    json.dump(result, sys.stdout)
    return 0
