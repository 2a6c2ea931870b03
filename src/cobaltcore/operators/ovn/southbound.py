"""Hypervisors in the southbound database.

Hypervisors prove that they are alive by copying NB_Global.nb_cfg: after an increment, every
ovn-controller that is up to date writes the number and the time to its Chassis_Private row.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cobaltcore.operators.ovn import ovsdb
from cobaltcore.operators.ovn.ovsdb import Address, Operation, Row

NORTHBOUND = "OVN_Northbound"
SOUTHBOUND = "OVN_Southbound"
MAPPINGS = "ovn-bridge-mappings"


@dataclass(frozen=True, slots=True)
class Record:
    """A hypervisor as OVN knows it."""

    system_id: str
    hostname: str
    encapsulations: tuple[tuple[str, str], ...]
    """Type and address, sorted."""
    bridge_mappings: str = ""
    confirmed: datetime | None = None
    """When it last copied nb_cfg; None: not yet."""
    asked_since: datetime | None = None
    """Since when this operator has asked for confirmations without a pause; None: unknown."""


Records = Mapping[str, Record]


async def records(address: Address) -> Records:
    """All hypervisors, by system id."""
    chassis, private, encaps = await ovsdb.transact(
        address,
        SOUTHBOUND,
        [
            _select("Chassis", "name", "hostname", "other_config"),
            _select("Chassis_Private", "name", "nb_cfg_timestamp"),
            _select("Encap", "chassis_name", "type", "ip"),
        ],
    )
    return parse(chassis, private, encaps)


def parse(chassis: Iterable[Row], private: Iterable[Row], encaps: Iterable[Row]) -> Records:
    """Rows of three tables as one record for each hypervisor. Pure."""
    times = {row["name"]: row["nb_cfg_timestamp"] for row in private}
    reached: dict[str, list[tuple[str, str]]] = {}
    for row in encaps:
        reached.setdefault(row["chassis_name"], []).append((row["type"], row["ip"]))
    return {
        row["name"]: Record(
            system_id=row["name"],
            hostname=row["hostname"],
            encapsulations=tuple(sorted(reached.get(row["name"], ()))),
            bridge_mappings=_map(row["other_config"]).get(MAPPINGS, ""),
            confirmed=_moment(times.get(row["name"])),
        )
        for row in chassis
    }


async def request_confirmation(address: Address) -> None:
    """Increment nb_cfg, which every ovn-controller copies."""
    increment = {"op": "mutate", "table": "NB_Global", "where": []}
    await ovsdb.transact(address, NORTHBOUND, [{**increment, "mutations": [["nb_cfg", "+=", 1]]}])


async def remove(address: Address, system_id: str) -> None:
    """Delete a hypervisor's rows: its ports may be bound elsewhere."""
    where = [["name", "==", system_id]]
    tables = ("Chassis", "Chassis_Private")
    operations = [{"op": "delete", "table": table, "where": where} for table in tables]
    await ovsdb.transact(address, SOUTHBOUND, operations)


def _select(table: str, *columns: str) -> Operation:
    return {"op": "select", "table": table, "where": [], "columns": list(columns)}


def _map(value: Any) -> dict[str, str]:
    """A map is sent as ["map", [[key, value], …]]."""
    return dict(value[1])


def _moment(milliseconds: int | None) -> datetime | None:
    return datetime.fromtimestamp(milliseconds // 1000, UTC) if milliseconds else None
