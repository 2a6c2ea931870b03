"""Nothing is accepted and ignored: every field of a kind that is served is read, or refused.

A field that is listed here needs a reason. Kinds that no operator serves are listed in
docs/status.md, and are accepted with a warning.
"""

import ast
import functools
import re
from pathlib import Path

import msgspec
import pytest

from cobaltcore.api import base
from cobaltcore.api.base import Definition, Struct
from cobaltcore.api.blocks import SecretKeyRef
from cobaltcore.engine import definitions, registry
from tests.support import field_reads
from tests.support.field_reads import Code, Reads
from tests.support.field_writes import Writes

STATUS_PAGE = Path(__file__).resolve().parents[3] / "docs" / "status.md"
HEADING = "## Kinds and fields not yet served"

READ_BY_RULES = {
    "ControlPlane spec.services.keystone.federation.enabled": "true is refused",
    "Keystone spec.federation": "enabled: true is refused",
    "Nova spec.storage.backend": "must agree with rbd, which is read",
    "CredentialRotation spec.rotationType": "has one value",
    "Keystone spec.plugins.name": "is for people, as a comment is",
}
"""Fields without a reader that are not ignored all the same, and why."""


@functools.cache
def folders() -> dict[str, list[Definition]]:
    """The kinds that each folder of operators and services serves."""
    known = {each.kind: each for each in base.definitions()}
    found = {f"services/{each.name}": [known[each.kind]] for each in definitions.services()}
    for each in registry.operators():
        package = type(each.planners[0]).__module__
        if package.startswith(registry.OPERATORS):
            name = package.removeprefix(f"{registry.OPERATORS}.").partition(".")[0]
            found[f"operators/{name}"] = [known[kind] for kind in each.rights.serves]
    return found


def parts(definition: Definition) -> tuple[type[msgspec.Struct], type[msgspec.Struct]]:
    """The structs of spec and status."""
    info = msgspec.inspect.type_info(definition.struct)
    assert isinstance(info, msgspec.inspect.StructType)
    types = {each.name: list(field_reads.structs_in(each.type)) for each in info.fields}
    (spec,), (status,) = types["spec"], types["status"]
    return spec, status


def structs() -> set[type[msgspec.Struct]]:
    """Every struct of our kinds, with those that they extend."""
    found: set[type[msgspec.Struct]] = set()
    new = {part for definition in base.definitions() for part in parts(definition)}
    while new:
        found |= new
        held = (inner for each in new for inner in field_reads.fields(each).values())
        extended = {base for each in new for base in each.__mro__ if is_ours(base)}
        new = ({each for inner in held for each in inner if is_ours(each)} | extended) - found
    return found


def is_ours(struct: type) -> bool:
    return struct.__module__.startswith("cobaltcore.api") and issubclass(struct, msgspec.Struct)


@functools.cache
def reads() -> Reads:
    specs = {name: [parts(each)[0] for each in listed] for name, listed in folders().items()}
    of_services = [
        s for name, listed in specs.items() if name.startswith("services/") for s in listed
    ]
    blocks = {
        f"services/{each.name}": each.part.block for each in definitions.services() if each.part
    }
    return Code(structs(), {**specs, "": of_services}, settings=blocks).reads()


def served() -> list[tuple[str, Definition]]:
    return [(folder, each) for folder, listed in folders().items() for each in listed]


each_served = pytest.mark.parametrize(
    ("folder", "definition"),
    [pytest.param(*each, id=each[1].kind.kind) for each in served()],
)


@each_served
def test_spec_has_no_field_that_nothing_reads(folder: str, definition: Definition) -> None:
    assert folder in folders()
    name = definition.kind.kind
    unread = {f"{name} {path}" for path in reads().unread(parts(definition)[0])}
    assert unread - READ_BY_RULES.keys() - not_yet_served() == set()


@each_served
def test_status_has_no_field_that_nothing_writes(folder: str, definition: Definition) -> None:
    unwritten = Writes().unwritten(parts(definition)[1], folder)
    assert list(unwritten) == []


def test_listed_fields_are_unread() -> None:
    """A list that outlives its fields would hide the next ones."""
    unread = {
        f"{each.kind.kind} {path}"
        for _, each in served()
        for path in reads().unread(parts(each)[0])
    }
    assert (READ_BY_RULES.keys() | not_yet_served()) - unread - kinds_without_operator() == set()


def test_status_page_lists_exactly_the_kinds_without_an_operator() -> None:
    assert {each for each in not_yet_served() if " " not in each} == kinds_without_operator()


def kinds_without_operator() -> set[str]:
    return {each.kind for each in registry.kinds_without_operator()}


def not_yet_served() -> set[str]:
    """First column of the table on the page of the state of the work."""
    section = STATUS_PAGE.read_text().partition(HEADING)[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)`", section, re.MULTILINE))


class ExampleDatabase(Struct):
    secret_ref: SecretKeyRef


class ExampleBootstrap(Struct):
    admin_password_secret_ref: SecretKeyRef


class Example(Struct):
    database: ExampleDatabase
    bootstrap: ExampleBootstrap


def test_unread_key_of_one_secret_is_found_although_that_of_another_is_read() -> None:
    code = """
def login(spec):
    admin = spec.bootstrap.admin_password_secret_ref
    return spec.database.secret_ref.name, admin.name, admin.key or "password"
"""
    known: list[type[Struct]] = [Example, ExampleDatabase, ExampleBootstrap, SecretKeyRef]
    trees = {field_reads.SOURCE / "engine" / "login.py": ast.parse(code)}
    seen = Code(known, {"": [Example]}, trees).reads()
    assert list(seen.unread(Example)) == ["spec.database.secretRef.key"]
