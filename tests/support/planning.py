"""What a service wants, without any server: facts made from an object, and the plan for them."""

import base64
import functools
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET
from cobaltcore.engine import configuration, registry, sources, steps
from cobaltcore.engine.configuration import Carried
from cobaltcore.engine.definition import Facts, Service
from cobaltcore.engine.observe import Observed
from cobaltcore.runtime.meta import Desired, Key, Kind, Object, key_of
from tests.support import objects, openstack, structural

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACE = "openstack"


def service(kind: str) -> Service:
    """The definition of a kind's service."""
    return next(each for each in registry.services() if each.kind.kind == kind)


def an_object(kind: str, **changes: Any) -> Object:
    """Our example of a kind, changed by dotted paths below spec, with the schema's defaults."""
    example = next(each for each in structural.examples() if each["kind"] == kind)
    paths = {f"spec.{path.replace('__', '.')}": value for path, value in changes.items()}
    changed = objects.changed(example, paths)
    schema = _schemas()[changed["apiVersion"], kind]
    filled: Object = structural.with_defaults(changed, schema)
    filled["metadata"] |= {"uid": "some-uid", "generation": 1}
    return filled


def with_given_database(obj: Object) -> Object:
    """The same, on a database server that is somebody else's."""
    given = {**obj["spec"]["database"], "host": "db.example"}
    given.pop("clusterRef", None)
    return {**obj, "spec": {**obj["spec"], "database": given}}


@functools.cache
def _schemas() -> dict[tuple[str, str], structural.Schema]:
    return structural.schemas()


def facts(obj: Object, *others: tuple[Kind, Object]) -> Facts:
    """Facts in which every Secret that the object names is complete, and `others` exist."""
    definition = service(obj["kind"])
    resource = msgspec.convert(obj, definition.resource)
    key = key_of(obj)
    contents = {
        (kind, other): _content(kind, other)
        for kind, other in sources.concerned(definition, key, resource.spec)
        if kind in (SECRET, CONFIG_MAP)
    }
    for need in definition.passwords(key.name, resource.spec):
        contents[SECRET, Key(key.namespace, need.name)] = _content(SECRET, key)
    known = {(kind, key_of(each)): each for kind, each in others}
    observed = Observed(
        lambda kind, other: known.get((kind, other)),
        lambda kind, index, value: [each for k, each in others if k == kind],
        contents,
    )
    return Facts(definition, obj, resource, observed, NOW, lambda number: b"\0" * number)


def carried(of: Facts, name: str = "") -> Carried:
    """One of the configurations of a service."""
    return configuration.carried(of, name)


def options(of: Facts, file: str, name: str = "") -> dict[str, dict[str, str]]:
    """A rendered file, read back: section to option to value."""
    return parsed(carried(of, name).config_map.body["data"][file])


def parsed(text: str) -> dict[str, dict[str, str]]:
    """An INI file as it was rendered."""
    found: dict[str, dict[str, str]] = {}
    section = ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
            found[section] = {}
        elif line:
            option, _, value = line.partition(" = ")
            found[section][option] = value
    return found


def secret_texts(made: Desired) -> Mapping[str, str]:
    """The content of a Secret."""
    data = made.body["data"]
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


def everything(of: Facts) -> list[Desired]:
    """The objects of all steps, as if every one were reached."""
    wanted: dict[tuple[Kind, Key], Desired] = {}
    for step in steps.chain(of):
        if step.when(of):
            wanted |= {(each.kind, each.key): each for each in step.run(of).objects}
    return list(wanted.values())


def of_kind(found: Iterable[Desired], kind: Kind) -> dict[str, Mapping[str, Any]]:
    """Objects of one kind, by name."""
    return {each.key.name: each.body for each in found if each.kind == kind}


def _content(kind: Kind, key: Key) -> Object:
    meta = {"name": key.name, "namespace": key.namespace}
    if kind == CONFIG_MAP:
        return {"metadata": meta, "data": {"data": "a=10.0.0.1:6789,b=10.0.0.2:6789"}}
    texts = openstack.CONTENT
    data = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
    return {"metadata": meta, "data": data}
