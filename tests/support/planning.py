"""The plan of a service without any server: a scope from an object, and what follows from it."""

import base64
import functools
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET
from cobaltcore.engine import access, configuration, definitions, steps
from cobaltcore.engine.configuration import RenderedConfig
from cobaltcore.engine.definition import AnyService, ServiceScope
from cobaltcore.engine.observed import Observed
from cobaltcore.engine.service import ServicePlanner
from cobaltcore.runtime.meta import Desired, Key, Kind, Object, key_of
from tests.support import objects, openstack, structural

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACE = "openstack"


def service(kind: str) -> AnyService:
    """The definition of a kind's service."""
    return next(each for each in definitions.services() if each.kind.kind == kind)


def an_object(kind: str, **changes: Any) -> Object:
    """Our example of a kind, changed by dotted paths below spec, with the schema's defaults."""
    example = next(each for each in structural.examples() if each["kind"] == kind)
    paths = {f"spec.{path.replace('__', '.')}": value for path, value in changes.items()}
    return stored(objects.changed(example, paths))


def stored(obj: Object) -> Object:
    """An object as the API server stores it."""
    schema = _schemas()[obj["apiVersion"], obj["kind"]]
    filled: Object = structural.with_defaults(obj, schema)
    created = "2026-01-01T00:00:00Z"
    filled["metadata"] |= {"uid": "some-uid", "generation": 1, "creationTimestamp": created}
    return filled


def with_external_database(obj: Object) -> Object:
    """The same, on an external database server."""
    external = {**obj["spec"]["database"], "host": "db.example"}
    external.pop("clusterRef", None)
    return {**obj, "spec": {**obj["spec"], "database": external}}


@functools.cache
def _schemas() -> dict[tuple[str, str], structural.Schema]:
    return structural.schemas()


def scope(obj: Object, *others: tuple[Kind, Object]) -> ServiceScope[Any]:
    """A scope in which every Secret that the object names is complete, and `others` exist."""
    definition = service(obj["kind"])
    resource = msgspec.convert(obj, definition.resource)
    key = key_of(obj)
    generated = set(definition.generated(key.name))
    contents = {
        (kind, other): _content(kind, other)
        for kind, other in ServicePlanner(definition).references(key, resource.spec)
        if kind in (SECRET, CONFIG_MAP) and (kind, other.name) not in generated
    }
    known = {(kind, key_of(each)): each for kind, each in others}
    observed = Observed(
        lambda kind, other: known.get((kind, other)),
        lambda kind, index, value: [each for k, each in others if k == kind],
        contents=contents,
    )
    found: ServiceScope[Any] = ServiceScope(
        service=definition,
        live=obj,
        resource=resource,
        observed=observed,
        now=NOW,
        random=lambda number: b"\0" * number,
    )
    for need in access.generated(found):
        contents[SECRET, found.sibling(need.name)] = _content(SECRET, key)
    return found


def rendered(of: ServiceScope[Any], name: str = "") -> RenderedConfig:
    """One of the configurations of a service."""
    return configuration.rendered(of, name)


def options(of: ServiceScope[Any], file: str, name: str = "") -> dict[str, dict[str, str]]:
    """A rendered file, read back: section to option to value."""
    return parsed(rendered(of, name).config_map.body["data"][file])


def secret_options(of: ServiceScope[Any], name: str = "") -> dict[str, dict[str, str]]:
    """The options with secret values, read back without their quotes."""
    text = secret_texts(rendered(of, name).secrets)[configuration.SECRET_FILE]
    return {
        section: {option: value[1:-1] for option, value in options.items()}
        for section, options in parsed(text).items()
    }


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


def secret_texts(desired: Desired) -> Mapping[str, str]:
    """The content of a Secret."""
    data = desired.body["data"]
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


def everything(of: ServiceScope[Any]) -> list[Desired]:
    """The objects of all steps, as if every one were reached."""
    wanted: dict[tuple[Kind, Key], Desired] = {}
    for step in steps.chain(of):
        if step.enabled_if(of):
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
