"""OVN on simulated nodes: databases that answer for hypervisors which exist only in a test.

    async with simulated_ovn.databases() as ovn:
        ClusterController(context, route=ovn.route)

A hypervisor registers when its OVNChassis is created by the operator, unless it is set to stay silent.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from cobaltcore.operators.ovn.ovsdb import Address

Row = dict[str, Any]


@dataclass
class Databases:
    """Both databases as one server; rows are kept by table."""

    port: int = 0
    chassis: dict[str, str] = field(default_factory=dict)
    """System ids and addresses of hypervisors that are registered."""
    silent: set[str] = field(default_factory=set)
    """Hypervisors that do not answer any more."""
    confirmed: dict[str, int] = field(default_factory=dict)
    number: int = 0
    removed: list[str] = field(default_factory=list)
    is_down: bool = False

    def route(self, address: Address) -> Address:
        """Where a database of a test really is."""
        return Address("127.0.0.1", self.port)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one transaction."""
        try:
            text = (await reader.read(2**16)).decode()
            if text and not self.is_down:
                request = json.loads(text)
                results = [self._carry_out(each) for each in request["params"][1:]]
                # A server asks whether its client lives, at any time.
                echo = {"method": "echo", "params": [], "id": "echo"}
                answer = {"id": request["id"], "error": None, "result": results}
                writer.write(json.dumps(echo).encode() + json.dumps(answer).encode())
                await writer.drain()
        finally:
            writer.close()

    def _carry_out(self, operation: Row) -> Row:
        if operation["op"] == "mutate":
            self.number += 1
            now = int(time.time() * 1000)
            self.confirmed |= {name: now for name in self.chassis if name not in self.silent}
            return {"count": 1}
        if operation["op"] == "delete":
            name = operation["where"][0][2]
            if self.chassis.pop(name, None) is not None:
                self.removed.append(name)
            self.confirmed.pop(name, None)
            return {"count": 1}
        return {"rows": self._rows(operation["table"])}

    def _rows(self, table: str) -> list[Row]:
        if table == "Chassis":
            empty = ["map", []]
            return [{"name": n, "hostname": n, "other_config": empty} for n in self.chassis]
        if table == "Chassis_Private":
            times = {name: self.confirmed.get(name, 0) for name in self.chassis}
            return [{"name": n, "nb_cfg_timestamp": moment} for n, moment in times.items()]
        return [
            {"chassis_name": name, "type": "geneve", "ip": ip} for name, ip in self.chassis.items()
        ]


@asynccontextmanager
async def databases() -> AsyncIterator[Databases]:
    """Serve for the length of a test."""
    found = Databases()
    server = await asyncio.start_server(found.serve, "127.0.0.1", 0)
    found.port = server.sockets[0].getsockname()[1]
    async with server:
        yield found
