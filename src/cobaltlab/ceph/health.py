"""`ceph status` as the status of a CephCluster. Pure."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from cobaltcore.api.foreign.rook import Capacity, CephHealth, HealthDetail
from cobaltcore.runtime.timestamps import timestamp
from cobaltlab.agents.rook import admin

ERROR = "HEALTH_ERR"
_VERSION = re.compile(r"ceph version (\S+)")

is_clean = admin.is_clean


def reported(fsid: str, status: Mapping[str, Any]) -> CephHealth:
    """The health of a cluster that responds."""
    found, used = status["health"], status["pgmap"]
    return CephHealth(
        fsid=fsid,
        health=found["status"],
        details={
            name: HealthDetail(severity=check["severity"], message=check["summary"]["message"])
            for name, check in sorted(found["checks"].items())
        },
        capacity=Capacity(
            bytes_total=used.get("bytes_total", 0),
            bytes_used=used.get("bytes_used", 0),
            bytes_available=used.get("bytes_avail", 0),
        ),
    )


def unreachable(fsid: str, message: str) -> CephHealth:
    """The health of a cluster that does not respond."""
    details = {"error": HealthDetail(severity="Urgent", message=message)}
    return CephHealth(fsid=fsid, health=ERROR, details=details)


def transition(before: CephHealth | None, current: CephHealth, now: datetime) -> dict[str, str]:
    """Previous health and the time of the last change."""
    if before is None or not before.health:
        return {}
    if before.health == current.health:
        return {"previous_health": before.previous_health, "last_changed": before.last_changed}
    return {"previous_health": before.health, "last_changed": timestamp(now)}


def version(output: Any) -> str:
    """The version as Rook writes it, for example 16.2.15-0."""
    found = _VERSION.match(str((output or {}).get("version", "")))
    return f"{found[1]}-0" if found else ""


def blockers(status: Mapping[str, Any]) -> str:
    """What keeps the cluster from being clean."""
    return ", ".join(_blockers(status))


def _blockers(status: Mapping[str, Any]) -> Iterator[str]:
    osds = status["osdmap"]
    if not status["mgrmap"].get("available"):
        yield "manager is not available"
    if osds["num_osds"] == 0 or osds["num_up_osds"] < osds["num_osds"]:
        yield f"{osds['num_up_osds']}/{osds['num_osds'] or 1} OSDs up"
    states = {
        each["state_name"]: each["count"] for each in status["pgmap"].get("pgs_by_state", ())
    }
    total = sum(states.values())
    if states.get("active+clean", 0) < total or not total:
        yield f"{states.get('active+clean', 0)}/{total} placement groups clean"
    if status["health"]["status"] == ERROR:
        yield f"{ERROR}: {', '.join(sorted(status['health']['checks']))}"
