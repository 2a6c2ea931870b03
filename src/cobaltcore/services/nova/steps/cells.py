"""Cells: shares of the hypervisors, each with its own database, virtual host and conductor. Pure."""

import json
from typing import NamedTuple

from cobaltcore.api.foreign.kubernetes import DAEMON_SET, DEPLOYMENT
from cobaltcore.api.nova import CellStatus, NovaSpec
from cobaltcore.engine import access, workloads
from cobaltcore.engine.definition import DatabaseNeed, Result, ServiceScope
from cobaltcore.engine.desired import database, inifile, workload
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.engine.verdict import Ready

LABEL = "nova.c5c3.io/cell"
"""Label of hypervisor nodes that belong to another cell than the first."""
DATABASES_DIR = "/etc/nova-databases"
DATABASE_TEMPLATE = "{{scheme}}://{{username}}:{{password}}@{{hostname}}:{{port}}/{name}?{{query}}"
"""Nova fills in the rest from its own options, so that no password is written down."""


class Cell(NamedTuple):
    """A cell; the first one uses what all of Nova uses."""

    name: str
    database: str
    is_first: bool
    enabled: bool

    @property
    def suffix(self) -> str:
        """What the cell's workloads are called after."""
        return "" if self.is_first else f"-{self.name}"

    @property
    def configuration(self) -> str:
        """Which configuration its conductors and proxies read."""
        return "" if self.is_first else f"cell-{self.name}"

    @property
    def file(self) -> str:
        """The name of the file with the address of its database."""
        return f"{self.name}.conf"


def cells(spec: NovaSpec) -> list[Cell]:
    """The cells of a spec, but for cell0."""
    found = []
    for number, each in enumerate(spec.cells):
        default = f"nova_{each.name.replace('-', '_')}" if number else spec.database.database
        found.append(Cell(each.name, each.database or default, not number, each.enabled))
    return found


def databases(spec: NovaSpec) -> list[DatabaseNeed]:
    """What all cells share, cell0, and one of each cell."""
    first, *others = cells(spec)
    return [
        DatabaseNeed(first.database),
        DatabaseNeed(spec.database.api_database, section="api_database"),
        DatabaseNeed(spec.database.cell_database, section=""),
        *(DatabaseNeed(each.database, section="") for each in others),
    ]


def virtual_hosts(spec: NovaSpec, first: str) -> list[str]:
    """The first cell uses Nova's own, each other one has one."""
    _, *others = cells(spec)
    return [first, *(_virtual_host(first, each) for each in others)]


def secrets(scope: ServiceScope[NovaSpec], cell: Cell) -> Sections:
    """Addresses of what a cell has for itself."""
    broker = {"transport_url": transport_url(scope, cell)}
    return {**_database(scope, cell), "DEFAULT": broker}


def secret_files(scope: ServiceScope[NovaSpec]) -> dict[str, dict[str, str]]:
    """For the migration, the addresses of the databases of cells beyond the first."""
    _, *others = cells(scope.spec)
    files = {each.file: inifile.render(_database(scope, each)) for each in others}
    return {DATABASES_DIR: files} if files else {}


def _database(scope: ServiceScope[NovaSpec], cell: Cell) -> Sections:
    account = access.database_account(scope)
    return {"database": {"connection": database.dsn(account, cell.database)}}


def transport_url(scope: ServiceScope[NovaSpec], cell: Cell) -> str:
    """Where programs of a cell find each other."""
    first = access.virtual_host(scope)
    return access.transport_url(scope, first if cell.is_first else _virtual_host(first, cell))


def mapped(scope: ServiceScope[NovaSpec]) -> Result:
    """Report the cells, which the migration has mapped; each needs a conductor to serve."""
    report = [
        CellStatus(
            name=each.name,
            status=_state(scope, each),
            compute_nodes=workloads.ready_on_nodes(scope, f"compute{each.suffix}"),
        )
        for each in cells(scope.spec)
    ]
    elsewhere = [
        f"computeRef {each.compute_ref.name!r} of cell {each.name!r} is not followed, "
        "its hypervisors are the nodes of this cluster"
        for each in scope.spec.cells
        if each.compute_ref is not None
    ]
    message = "; ".join([f"{len(report)} cells", *elsewhere])
    return Result(Ready("CellsMapped", message), status={"cells": report})


def _state(scope: ServiceScope[NovaSpec], cell: Cell) -> str:
    """Ready for servers, or the first thing that is missing."""
    conductor = scope.observed.get(DEPLOYMENT, scope.named(f"conductor{cell.suffix}"))
    if not workload.progress(conductor).ready:
        return "ConductorNotReady"
    agents = scope.observed.get(DAEMON_SET, scope.named(f"compute{cell.suffix}"))
    hypervisors = workload.progress_on_nodes(agents)
    if not hypervisors.wanted:
        return "NoHypervisors"
    if hypervisors.ready < hypervisors.wanted:
        return "HypervisorsNotReady"
    return "Ready" if cell.enabled else "Disabled"


def migration(scope: ServiceScope[NovaSpec]) -> tuple[str, ...]:
    """Bring all databases to the release, and make cells known; those that are stay as they are."""
    first = access.virtual_host(scope)
    wanted = {
        "cell0": DATABASE_TEMPLATE.format(name=scope.spec.database.cell_database),
        "cells": [
            {
                "name": each.name,
                "database": DATABASE_TEMPLATE.format(name=each.database),
                "transport": _transport_template(
                    scope, first if each.is_first else _virtual_host(first, each)
                ),
                "file": "" if each.is_first else f"{DATABASES_DIR}/{each.file}",
                "enabled": each.enabled,
            }
            for each in cells(scope.spec)
        ],
    }
    return ("cobalt-agent", "nova", "databases", json.dumps(wanted))


def _transport_template(scope: ServiceScope[NovaSpec], virtual_host: str) -> str:
    """With several brokers Nova numbers their logins from 1."""
    number = len(access.brokers(scope))
    numbers = [""] if number == 1 else [str(each) for each in range(1, number + 1)]
    brokers = ",".join(
        f"{{username{n}}}:{{password{n}}}@{{hostname{n}}}:{{port{n}}}" for n in numbers
    )
    return f"{{scheme}}://{brokers}/{virtual_host.strip('/')}"


def _virtual_host(first: str, cell: Cell) -> str:
    return f"{first.strip('/') or 'nova'}-{cell.name}"
