"""Runs in a container of the monitor: administrative requests as JSON in, answers as JSON out.

One connection serves all requests of a call, and waiting is done here, beside the monitor, instead
of by one call after the other. Only the standard library and Ceph's own modules are at hand.
"""

import contextlib
import importlib
import json
import sys
import time
from typing import Any

POLL_SECONDS = 0.1
TIMEOUTS = {
    "client_mount_timeout": "5",
    "rados_mon_op_timeout": "10",
    "rados_osd_op_timeout": "10",
}


def is_up(status: dict[str, Any]) -> bool:
    """Whether all storage daemons are up and take data."""
    osds = status["osdmap"]
    return bool(osds["num_osds"] == osds["num_up_osds"] == osds["num_in_osds"] > 0)


def is_clean(status: dict[str, Any]) -> bool:
    """The strict gate: a HEALTH_OK alone is also said of a cluster that cannot work yet."""
    states = {each["state_name"] for each in status["pgmap"].get("pgs_by_state", ())}
    return (
        bool(status["mgrmap"].get("available"))
        and is_up(status)
        and status["health"]["status"] != "HEALTH_ERR"
        and states == {"active+clean"}
    )


GATES = {"up": is_up, "clean": is_clean}


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
        """Give up the connection."""
        self._cluster.shutdown()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one request."""
        if "command" in request:
            return self._command(request["command"])
        try:
            with contextlib.closing(self._cluster.open_ioctx(request["pool"])) as pool:
                if request["images"] == "init":
                    self._rbd.RBD().pool_init(pool, False)  # noqa: FBT003 not ours to name
                    return {"code": 0}
                names = [*self._rbd.RBD().list(pool), *self._trash(pool)]
                return {"code": 0, "output": names}
        except (self._rados.Error, self._rbd.Error) as error:
            return {"code": -abs(getattr(error, "errno", None) or 5), "message": str(error)}

    def status(self) -> dict[str, Any]:
        """What the cluster says about itself."""
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
    """Wait for the gate as long as the call allows, then carry out requests up to a refused one."""
    end = time.monotonic() + call.get("seconds", 0)
    gate = GATES.get(call.get("until", ""), lambda _: True)
    status = session.status()
    while not gate(status) and time.monotonic() < end:
        time.sleep(POLL_SECONDS)  # noqa: TID251 a program of its own, beside the monitor
        status = session.status()
    answers: list[dict[str, Any]] = []
    for request in call["requests"] if gate(status) else ():
        answers.append(session.answer(request))
        if answers[-1]["code"]:
            break
    return {"status": status, "answers": answers}


def main() -> int:
    """Read a call from standard input and write its answers to standard output."""
    try:
        session = Session()
        try:
            result = serve(session, json.load(sys.stdin))
        finally:
            session.close()
    except Exception as error:  # noqa: BLE001 whatever it is, the caller has to hear it
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    json.dump(result, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
