"""Cells: shares of the hypervisors, each with its own database, virtual host and conductor. Pure."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from cobaltcore.engine import access, running, tasks
from cobaltcore.engine.definition import DatabaseNeed, Facts, Result, Task
from cobaltcore.engine.desired import database
from cobaltcore.engine.verdict import Ready

LABEL = "nova.c5c3.io/cell"
"""Label of hypervisor nodes that belong to another cell than the first."""
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
    """Make the cells known to Nova; those that it knows are left as they are."""
    script = "\n".join(["set -eu", "known=$(nova-manage cell_v2 list_cells)", *_commands(facts)])
    inputs = [facts.service.image(facts.spec)]
    ran = tasks.run_once(
        facts, Task("cells", ("sh", "-c", script), inputs=inputs), running="CellsInProgress"
    )
    done = isinstance(ran.verdict, Ready)
    told = [
        {
            "name": each.name,
            "status": "Ready" if done else ran.verdict.reason,
            "computeNodes": running.ready_on_nodes(facts, f"compute{each.suffix}"),
        }
        for each in cells(facts.spec)
    ]
    verdict = Ready("CellsMapped", f"{len(told)} cells") if done else ran.verdict
    return Result(verdict, ran.objects, ran.remove, {"cells": told})


def migration(spec: Any) -> tuple[str, ...]:
    """Bring the database of all cells, that of cell0 and that of the first cell to the release."""
    cell0 = DATABASE_TEMPLATE.format(name=spec.database.cell_database)
    commands = (
        "set -eu",
        "nova-manage api_db sync",
        f"nova-manage cell_v2 map_cell0 --database_connection '{cell0}'",
        "nova-manage db sync",
    )
    return ("sh", "-c", "\n".join(commands))


def _commands(facts: Facts) -> Iterator[str]:
    first = access.virtual_host(facts)
    for each in cells(facts.spec):
        if not each.is_first:
            sync = f'OS_DATABASE__CONNECTION="${each.database_variable}" nova-manage db sync'
            yield f"{sync} --local_cell"
        virtual = first if each.is_first else _virtual_host(first, each)
        create = (
            f"nova-manage cell_v2 create_cell --name {each.name}"
            f" --database_connection '{DATABASE_TEMPLATE.format(name=each.database)}'"
            f" --transport-url '{_transport_template(facts, virtual)}'"
        )
        yield f"printf '%s' \"$known\" | grep -q '^|  *{each.name}  *|' || {create}"


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
