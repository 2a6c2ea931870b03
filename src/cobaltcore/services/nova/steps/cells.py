"""Cells: shares of the hypervisors, each with its own database, virtual host and conductor. Pure."""

import json
from typing import Any, NamedTuple

from cobaltcore.engine import access, running
from cobaltcore.engine.definition import DatabaseNeed, Facts, Result
from cobaltcore.engine.desired import database
from cobaltcore.engine.verdict import Ready

LABEL = "nova.c5c3.io/cell"
"""Label of hypervisor nodes that belong to another cell than the first."""
CONFIG_DIR = "/etc/nova"
PREPARATION = "prepare_databases.py"
DATABASE_TEMPLATE = "{{scheme}}://{{username}}:{{password}}@{{hostname}}:{{port}}/{name}?{{query}}"
"""Nova fills in the rest from its own options, so that no password is written down."""


class Cell(NamedTuple):
    """A cell; the first one uses what all of Nova uses."""

    name: str
    database: str
    is_first: bool

    @property
    def suffix(self) -> str:
        """What the cell's workloads are called after."""
        return "" if self.is_first else f"-{self.name}"

    @property
    def database_variable(self) -> str:
        """The variable with the address of its database."""
        return f"{_upper(self.name)}_DATABASE"

    @property
    def transport_variable(self) -> str:
        """The variable with the address of its virtual host."""
        return f"{_upper(self.name)}_TRANSPORT_URL"


def cells(spec: Any) -> list[Cell]:
    """The cells of a spec, but for cell0."""
    found = []
    for number, each in enumerate(spec.cells):
        default = f"nova_{each.name.replace('-', '_')}" if number else spec.database.database
        found.append(Cell(each.name, each.database or default, not number))
    return found


def databases(spec: Any) -> list[DatabaseNeed]:
    """What all cells share, cell0, and one of each cell."""
    first, *others = cells(spec)
    return [
        DatabaseNeed(first.database),
        DatabaseNeed(spec.database.api_database, section="api_database"),
        DatabaseNeed(spec.database.cell_database, section=""),
        *(DatabaseNeed(each.database, section="") for each in others),
    ]


def virtual_hosts(spec: Any, first: str) -> list[str]:
    """The first cell uses Nova's own, each other one has one."""
    _, *others = cells(spec)
    return [first, *(_virtual_host(first, each) for each in others)]


def environment(facts: Facts) -> dict[str, str]:
    """Addresses of what cells beyond the first have for themselves."""
    _, *others = cells(facts.spec)
    account = access.database_account(facts)
    return {
        **{each.database_variable: database.dsn(account, each.database) for each in others},
        **transport_environment(facts),
    }


def transport_environment(facts: Facts) -> dict[str, str]:
    """Virtual hosts of cells beyond the first."""
    _, *others = cells(facts.spec)
    first = access.virtual_host(facts)
    return {
        each.transport_variable: access.transport_url(facts, _virtual_host(first, each))
        for each in others
    }


def mapped(facts: Facts) -> Result:
    """Tell of the cells, which the migration has made known to Nova."""
    told = [
        {
            "name": each.name,
            "status": "Ready",
            "computeNodes": running.ready_on_nodes(facts, f"compute{each.suffix}"),
        }
        for each in cells(facts.spec)
    ]
    return Result(Ready("CellsMapped", f"{len(told)} cells"), status={"cells": told})


def migration(facts: Facts) -> tuple[str, ...]:
    """Bring all databases to the release, and make cells known; those that are stay as they are."""
    first = access.virtual_host(facts)
    wanted = {
        "cell0": DATABASE_TEMPLATE.format(name=facts.spec.database.cell_database),
        "cells": [
            {
                "name": each.name,
                "database": DATABASE_TEMPLATE.format(name=each.database),
                "transport": _transport_template(
                    facts, first if each.is_first else _virtual_host(first, each)
                ),
                "variable": "" if each.is_first else each.database_variable,
            }
            for each in cells(facts.spec)
        ],
    }
    return ("python", f"{CONFIG_DIR}/{PREPARATION}", json.dumps(wanted))


def _transport_template(facts: Facts, virtual_host: str) -> str:
    """With several brokers Nova numbers their logins from 1."""
    number = len(access.brokers(facts))
    numbers = [""] if number == 1 else [str(each) for each in range(1, number + 1)]
    brokers = ",".join(
        f"{{username{n}}}:{{password{n}}}@{{hostname{n}}}:{{port{n}}}" for n in numbers
    )
    return f"{{scheme}}://{brokers}/{virtual_host.strip('/')}"


def _virtual_host(first: str, cell: Cell) -> str:
    return f"{first.strip('/') or 'nova'}-{cell.name}"


def _upper(name: str) -> str:
    return name.upper().replace("-", "_")
