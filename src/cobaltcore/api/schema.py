"""Structs to structural OpenAPI v3 schemas, as Kubernetes wants them. Pure: no I/O.

Rules of translation: a default that is not `None` (nor an empty text, list or map) becomes a
default of the schema, in `spec` only; lists without a marker are atomic; docstrings below fields
become descriptions; `__rules__` of a struct and `checked(...)` of a type become CEL rules.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatchmethod
from typing import Any, TypeAlias

import msgspec
from msgspec import NODEFAULT, inspect

from cobaltcore.api import descriptions
from cobaltcore.api.base import Rule

Schema: TypeAlias = dict[str, Any]

# Words of CEL's own syntax; as field names they are written with underscores around them.
_CEL_RESERVED = frozenset(
    ("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function",
     "if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while")
)  # fmt: skip


class SchemaError(TypeError):
    """A struct cannot be expressed as a structural schema."""


def of_struct(struct: type[msgspec.Struct], *, defaults: bool = True) -> Schema:
    """The schema of a struct; `defaults=False` for status, which no one defaults."""
    return _Translator(defaults=defaults).translate(inspect.type_info(struct))


def rules(cls: type) -> list[Schema]:
    """The CEL rules of a struct and of the structs that it extends."""
    found = (vars(base).get("__rules__", ()) for base in reversed(cls.__mro__))
    return [_cel(rule) for group in found for rule in group]


def cel_name(field: str) -> str:
    """Spell a field name the way CEL can read it."""
    if field in _CEL_RESERVED:
        return f"__{field}__"
    return field.replace("__", "__underscores__").replace(".", "__dot__").replace("-", "__dash__")


@dataclass(frozen=True, slots=True)
class _Translator:
    """Walks the types of one struct."""

    defaults: bool

    @singledispatchmethod
    def translate(self, info: inspect.Type) -> Schema:
        raise SchemaError(f"{type(info).__name__} has no structural schema")

    @translate.register
    def _(self, info: inspect.Metadata) -> Schema:
        return _marked(self.translate(info.type), extra=info.extra or {})

    @translate.register
    def _(self, info: inspect.StructType) -> Schema:
        properties: dict[str, Schema] = {}
        validations = rules(info.cls)
        for field in info.fields:
            schema = self._property(field, owner=info.cls)
            if _is_immutable(field.type):
                _fix(schema, field=field, validations=validations)
            properties[field.encode_name] = schema
        out: Schema = {"type": "object"}
        if text := descriptions.of_class(info.cls):
            out["description"] = text
        if properties:
            out["properties"] = properties
        if required := sorted(field.encode_name for field in info.fields if field.required):
            out["required"] = required
        if validations:
            out["x-kubernetes-validations"] = validations
        return out

    def _property(self, field: inspect.Field, *, owner: type) -> Schema:
        schema = self.translate(field.type)
        if text := descriptions.of_field(owner, field.name):
            schema["description"] = text
        if self.defaults:
            _set_default(schema, _default_of(field))
        return schema

    @translate.register
    def _(self, info: inspect.CollectionType) -> Schema:
        items = self.translate(info.item_type)
        schema = {"type": "array", "items": items, "x-kubernetes-list-type": "atomic"}
        return _bounded(schema, info, noun="Items")

    @translate.register
    def _(self, info: inspect.DictType) -> Schema:
        schema: Schema = {"type": "object"}
        if isinstance(info.value_type, inspect.AnyType):
            schema["x-kubernetes-preserve-unknown-fields"] = True
        else:
            schema["additionalProperties"] = self.translate(info.value_type)
        return _bounded(schema, info, noun="Properties")

    @translate.register
    def _(self, info: inspect.StrType) -> Schema:
        schema = _bounded({"type": "string"}, info, noun="Length")
        if info.pattern is not None:
            schema["pattern"] = info.pattern
        return schema

    @translate.register
    def _(self, info: inspect.IntType) -> Schema:
        return _ranged({"type": "integer"}, info)

    @translate.register
    def _(self, info: inspect.FloatType) -> Schema:
        return _ranged({"type": "number"}, info)

    @translate.register
    def _(self, _info: inspect.BoolType) -> Schema:
        return {"type": "boolean"}

    @translate.register
    def _(self, _info: inspect.AnyType) -> Schema:
        return {"x-kubernetes-preserve-unknown-fields": True}

    @translate.register
    def _(self, info: inspect.LiteralType) -> Schema:
        kinds = {type(value) for value in info.values}
        if kinds not in ({str}, {int}):
            raise SchemaError(f"an enumeration is of texts or of integers: {info.values}")
        return {"type": "string" if kinds == {str} else "integer", "enum": list(info.values)}

    @translate.register
    def _(self, info: inspect.UnionType) -> Schema:
        members = [member for member in info.types if not isinstance(member, inspect.NoneType)]
        if len(members) == 1:
            return self.translate(members[0])
        if {type(member) for member in members} == {inspect.StrType, inspect.IntType}:
            return {"x-kubernetes-int-or-string": True}
        raise SchemaError(f"a field has one type or is unset, this one may be any of {members}")


def _bounded(schema: Schema, info: Any, *, noun: str) -> Schema:
    if info.min_length is not None:
        schema[f"min{noun}"] = info.min_length
    if info.max_length is not None:
        schema[f"max{noun}"] = info.max_length
    return schema


def _ranged(schema: Schema, info: inspect.IntType | inspect.FloatType) -> Schema:
    bounds = {"minimum": info.ge, "maximum": info.le, "multipleOf": info.multiple_of}
    return schema | {word: bound for word, bound in bounds.items() if bound is not None}


def _marked(schema: Schema, *, extra: Mapping[str, Any]) -> Schema:
    if extra.get("int_or_string"):
        schema = {"x-kubernetes-int-or-string": True}
    if extra.get("preserve"):
        schema["x-kubernetes-preserve-unknown-fields"] = True
    for word in ("enum", "format", "maxLength", "minimum", "pattern"):
        if word in extra:
            schema[word] = extra[word]
    if keys := extra.get("list_map"):
        schema["x-kubernetes-list-type"] = "map"
        schema["x-kubernetes-list-map-keys"] = list(keys)
    if extra.get("list_set"):
        schema["x-kubernetes-list-type"] = "set"
    if found := [_cel(rule) for rule in extra.values() if isinstance(rule, Rule)]:
        schema["x-kubernetes-validations"] = found
    return schema


def _default_of(field: inspect.Field) -> Any:
    if field.default_factory is not NODEFAULT:
        return msgspec.to_builtins(field.default_factory())
    if field.default is NODEFAULT:
        return None
    return msgspec.to_builtins(field.default)


def _set_default(schema: Schema, default: Any) -> None:
    if default is None or default in ("", []):
        return
    # An empty object only matters when something below it has a default of its own.
    if default != {} or any("default" in child for child in schema.get("properties", {}).values()):
        schema["default"] = _filled(default, schema) if _has_rules(schema) else default


def _has_rules(schema: Schema) -> bool:
    children = schema.get("properties", {}).values()
    return "x-kubernetes-validations" in schema or any(map(_has_rules, children))


def _filled(value: Any, schema: Schema) -> Any:
    """A default with the defaults below it: the API server checks it against the rules as it is."""
    if not isinstance(value, dict):
        return value
    filled = dict(value)
    for name, child in schema.get("properties", {}).items():
        if name in value:
            filled[name] = _filled(value[name], child)
        elif "default" in child:
            filled[name] = _filled(child["default"], child)
    return filled


def _fix(schema: Schema, *, field: inspect.Field, validations: list[Schema]) -> None:
    """Make a field immutable: once set it can neither change nor be removed."""
    name = field.encode_name
    rule = Rule("self == oldSelf", f"{name} is immutable: it cannot change once it is set")
    schema.setdefault("x-kubernetes-validations", []).append(_cel(rule))
    if not field.required and "default" not in schema:
        cel = cel_name(name)
        kept = Rule(
            f"!has(oldSelf.{cel}) || has(self.{cel})",
            f"{name} is immutable: it cannot be removed once it is set",
        )
        validations.append(_cel(kept))


def _is_immutable(info: inspect.Type) -> bool:
    if isinstance(info, inspect.Metadata):
        return bool((info.extra or {}).get("immutable")) or _is_immutable(info.type)
    if isinstance(info, inspect.UnionType):
        return any(_is_immutable(member) for member in info.types)
    return False


def _cel(rule: Rule) -> Schema:
    out: Schema = {"rule": rule.cel, "message": rule.message}
    if rule.on_create:
        out |= {"rule": f"oldSelf.hasValue() || ({rule.cel})", "optionalOldSelf": True}
    if rule.field:
        out["fieldPath"] = rule.field if rule.field.startswith(".") else f".{rule.field}"
    return out
