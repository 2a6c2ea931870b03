"""The table of kinds: their fields, references and queries in Keystone. Pure: no I/O.

Everything that differs between kinds is here; one reconciler serves them all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cobaltcore.api.foreign import korc
from cobaltcore.runtime.meta import Kind, Object

FINALIZER_PREFIX = "openstack.k-orc.cloud/"
Attributes = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reference:
    """A field that names other K-ORC objects, and the attribute with their id."""

    field: str
    kind: Kind
    attribute: str = ""


@dataclass(frozen=True, slots=True)
class SecretReference:
    """A field that names a Secret, and the key to read."""

    field: str
    key: str


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the spec; without a value and a default Keystone decides."""

    name: str
    default: Any = None
    mutable: bool = True


@dataclass(frozen=True, slots=True)
class Inputs:
    """The input of a resource's attributes."""

    name: str
    resource: Mapping[str, Any]
    referred: Mapping[str, Sequence[Object]] = field(default_factory=dict)
    """Referenced objects by field."""
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Row:
    """One kind."""

    kind: Kind
    member: str
    """Name of a resource in bodies; that of the collection is the plural."""
    fields: tuple[Field, ...] = ()
    references: tuple[Reference, ...] = ()
    identity: tuple[str, ...] = ("name", "domain_id")
    """Attributes that identify an existing resource for adoption."""
    queries: tuple[str, ...] = ("name", "domain_id")
    """Attributes that Keystone can filter by."""
    reported: tuple[tuple[str, str], ...] = ()
    """Attribute and its field in status.resource."""
    secret: SecretReference | None = None
    extra_attributes: Callable[[Inputs], Attributes] = lambda inputs: {}
    in_default_domain: bool = False
    """Keystone's default domain applies if none is set."""

    @property
    def finalizer(self) -> str:
        """On objects of this kind and on their dependencies."""
        return f"{FINALIZER_PREFIX}{self.kind.kind.lower()}"

    @property
    def members(self) -> str:
        """Name of the collection in bodies and paths."""
        return f"{self.member}s"


def attributes(row: Row, inputs: Inputs) -> Attributes:
    """The desired resource in Keystone."""
    found: Attributes = {}
    for each in row.fields:
        value = inputs.name if each.name == "name" else inputs.resource.get(each.name)
        value = each.default if value is None else value
        if value is not None:
            found[each.name] = value
    for reference in row.references:
        ids = [referred["status"]["id"] for referred in inputs.referred.get(reference.field, ())]
        if ids and reference.attribute:
            found[reference.attribute] = ids[0]
    return found | row.extra_attributes(inputs)


def changes(row: Row, desired: Attributes, live: Mapping[str, Any]) -> Attributes:
    """The mutable attributes that differ from the live resource."""
    mutable = [each.name for each in row.fields if each.mutable]
    return {
        name: desired[name]
        for name in mutable
        if name in desired and not _same(live.get(name), desired[name])
    }


def identity(row: Row, desired: Attributes) -> Attributes:
    """The attributes that an existing resource must share to be adopted."""
    return {name: desired[name] for name in row.identity if name in desired}


def filter_attributes(
    row: Row, filter_: Mapping[str, Any], referred: Mapping[str, Sequence[Object]]
) -> Attributes:
    """The filter of an import as attributes of Keystone."""
    references = {each.field: each.attribute for each in row.references}
    found: Attributes = {}
    for name, value in filter_.items():
        if name in references:
            found[references[name]] = referred[name][0]["status"]["id"]
        else:
            found[name] = value
    return found


def query(row: Row, desired: Attributes) -> dict[str, str]:
    """The query parameters of a filter."""
    found = {name: _text(desired[name]) for name in row.queries if name in desired}
    return found | {_TAG_QUERIES[n]: ",".join(v) for n, v in desired.items() if n in _TAG_QUERIES}


def matches(desired: Attributes, live: Mapping[str, Any]) -> bool:
    """The rest of a filter; names are compared by Keystone, whose database decides about case."""
    return all(
        live.get(name) == value
        for name, value in desired.items()
        if name != "name" and name not in _TAG_QUERIES
    )


def report(row: Row, live: Mapping[str, Any]) -> Attributes:
    """A resource as `status.resource`."""
    found = {}
    for attribute, name in row.reported:
        value = live.get(attribute)
        if value is not None and value not in ("", []):
            found[name] = _REPORTED.get(name, lambda value: value)(value)
    return found


def names(value: Any) -> list[str]:
    """The names in a reference field: a string or a list."""
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def references(row: Row, fields: Mapping[str, Any]) -> list[tuple[Reference, str]]:
    """The objects that the fields of a resource or filter name."""
    found = [(ref, name) for ref in row.references for name in names(fields.get(ref.field))]
    if row.kind == korc.APPLICATION_CREDENTIAL:
        found += [(_RULE_SERVICE, name) for name in _rule_services(fields)]
    return found


def all_references(row: Row) -> tuple[Reference, ...]:
    """All reference fields of a kind."""
    rules = (_RULE_SERVICE,) if row.kind == korc.APPLICATION_CREDENTIAL else ()
    return (*row.references, *rules)


def _same(live: Any, desired: Any) -> bool:
    if isinstance(desired, list):
        return sorted(live or ()) == sorted(desired)
    return bool((live if live is not None else "") == desired)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _of_credential(inputs: Inputs) -> Attributes:
    resource = inputs.resource
    found: Attributes = {"secret": inputs.secret} if inputs.secret else {}
    roles = [role["status"]["id"] for role in inputs.referred.get("roleRefs", ())]
    if roles:
        found["roles"] = [{"id": each} for each in roles]
    if resource.get("expiresAt"):
        found["expires_at"] = _moment(resource["expiresAt"]).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    rules = _rules(resource.get("accessRules") or [], inputs.referred.get(_RULE_SERVICE.field, ()))
    return found | ({"access_rules": rules} if rules else {})


def _rules(rules: Sequence[Mapping[str, Any]], services: Sequence[Object]) -> list[Attributes]:
    types = {each["metadata"]["name"]: each["status"]["resource"]["type"] for each in services}
    return [
        {name: rule[name] for name in ("method", "path") if name in rule}
        | ({"service": types[rule["serviceRef"]]} if rule.get("serviceRef") else {})
        for rule in rules
    ]


def _rule_services(fields: Mapping[str, Any]) -> list[str]:
    rules = fields.get("accessRules")
    found = [r.get("serviceRef") for r in rules or () if isinstance(r, dict)] if rules else []
    return sorted({each for each in found if isinstance(each, str)})


def _reported_roles(roles: Sequence[Mapping[str, Any]]) -> list[Attributes]:
    return [
        _renamed(role, {"id": "id", "name": "name", "domain_id": "domainID"}) for role in roles
    ]


def _reported_rules(rules: Sequence[Mapping[str, Any]]) -> list[Attributes]:
    kept = {"id": "id", "method": "method", "path": "path", "service": "service"}
    return [_renamed(rule, kept) for rule in rules]


def _renamed(found: Mapping[str, Any], kept: Mapping[str, str]) -> Attributes:
    return {name: found[key] for key, name in kept.items() if found.get(key)}


def _reported_moment(text: str) -> str:
    return _moment(text).strftime("%Y-%m-%dT%H:%M:%SZ")


_TAG_QUERIES = {
    "tags": "tags",
    "tagsAny": "tags-any",
    "notTags": "not-tags",
    "notTagsAny": "not-tags-any",
}
_REPORTED: Mapping[str, Callable[[Any], Any]] = {
    "roles": _reported_roles,
    "accessRules": _reported_rules,
    "expiresAt": _reported_moment,
}
_RULE_SERVICE = Reference("accessRules", korc.SERVICE)
_DOMAIN = Reference("domainRef", korc.DOMAIN, "domain_id")
_PROJECT = Reference("projectRef", korc.PROJECT, "project_id")
_USER = Reference("userRef", korc.USER, "user_id")
_NAME, _ENABLED, _DESCRIPTION = (
    Field("name"),
    Field("enabled", default=True),
    Field("description", ""),
)
_NAMED = (("name", "name"), ("description", "description"))
_IN_DOMAIN = (*_NAMED, ("domain_id", "domainID"))

TABLE: tuple[Row, ...] = (
    Row(
        korc.DOMAIN,
        "domain",
        fields=(_NAME, _DESCRIPTION, _ENABLED),
        queries=("name", "enabled"),
        reported=(*_NAMED, ("enabled", "enabled")),
    ),
    Row(
        korc.PROJECT,
        "project",
        fields=(_NAME, _DESCRIPTION, _ENABLED, Field("tags", [])),
        references=(_DOMAIN,),
        reported=(*_IN_DOMAIN, ("enabled", "enabled"), ("tags", "tags")),
        in_default_domain=True,
    ),
    Row(
        korc.ROLE,
        "role",
        fields=(_NAME, _DESCRIPTION),
        references=(_DOMAIN,),
        reported=_IN_DOMAIN,
    ),
    Row(
        korc.GROUP,
        "group",
        fields=(_NAME, _DESCRIPTION),
        references=(_DOMAIN,),
        reported=_IN_DOMAIN,
        in_default_domain=True,
    ),
    Row(
        korc.SERVICE,
        "service",
        fields=(_NAME, _DESCRIPTION, _ENABLED, Field("type")),
        identity=("name", "type"),
        queries=("name", "type"),
        reported=(*_NAMED, ("enabled", "enabled"), ("type", "type")),
    ),
    Row(
        korc.ENDPOINT,
        "endpoint",
        fields=(
            Field("interface"),
            Field("url"),
            Field("enabled"),
            Field("description", mutable=False),
        ),
        references=(Reference("serviceRef", korc.SERVICE, "service_id"),),
        identity=("interface", "service_id", "url"),
        queries=("interface", "service_id"),
        reported=(
            ("description", "description"),
            ("enabled", "enabled"),
            ("interface", "interface"),
            ("service_id", "serviceID"),
            ("url", "url"),
        ),
    ),
    Row(
        korc.USER,
        "user",
        fields=(_NAME, _DESCRIPTION, _ENABLED),
        references=(
            _DOMAIN,
            Reference("defaultProjectRef", korc.PROJECT, "default_project_id"),
        ),
        reported=(
            *_IN_DOMAIN,
            ("enabled", "enabled"),
            ("default_project_id", "defaultProjectID"),
            ("password_expires_at", "passwordExpiresAt"),
        ),
        secret=SecretReference("passwordRef", "password"),
        extra_attributes=lambda inputs: {"password": inputs.secret} if inputs.secret else {},
        in_default_domain=True,
    ),
    Row(
        korc.APPLICATION_CREDENTIAL,
        "application_credential",
        fields=(
            Field("name", mutable=False),
            Field("description", mutable=False),
            Field("unrestricted", mutable=False),
        ),
        references=(_USER, Reference("roleRefs", korc.ROLE)),
        identity=("name",),
        queries=("name",),
        reported=(
            *_NAMED,
            ("access_rules", "accessRules"),
            ("expires_at", "expiresAt"),
            ("project_id", "projectID"),
            ("roles", "roles"),
            ("unrestricted", "unrestricted"),
        ),
        secret=SecretReference("secretRef", "value"),
        extra_attributes=_of_credential,
    ),
    Row(
        korc.ROLE_ASSIGNMENT,
        "role_assignment",
        references=(
            Reference("roleRef", korc.ROLE, "role_id"),
            _USER,
            Reference("groupRef", korc.GROUP, "group_id"),
            _PROJECT,
            _DOMAIN,
        ),
        identity=("role_id", "user_id", "group_id", "project_id", "domain_id"),
        reported=(
            ("role_id", "roleID"),
            ("user_id", "userID"),
            ("group_id", "groupID"),
            ("project_id", "projectID"),
            ("domain_id", "domainID"),
        ),
    ),
)
BY_KIND = {row.kind: row for row in TABLE}
