"""Definitions to Markdown reference pages, from the same schemas as the CRDs. Pure: no I/O."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from cobaltcore.api import base, crd
from cobaltcore.api.schema import Schema

_BOUNDS = (
    ("minimum", "≥ {}"),
    ("maximum", "≤ {}"),
    ("maxLength", "at most {} characters"),
    ("maxItems", "at most {} items"),
    ("maxProperties", "at most {} entries"),
)
MOST_REPEATED = 4
"""As many fields of another object are described again; of more, that object is named."""


def page(definition: base.Definition) -> str:
    """The reference page of one kind."""
    schema = crd.openapi(definition)
    lines = [f"# {definition.kind.kind}", "", schema["description"], "", *_facts(definition)]
    for part in ("spec", "status"):
        lines += ["", f"## {part.capitalize()}", "", *_table(schema["properties"][part])]
    if rules := list(_rules(schema["properties"]["spec"])):
        lines += [
            "",
            "## Rules",
            "",
            "The API server refuses objects that break one of these:",
            "",
        ]
        lines += [f"- {rule}" for rule in dict.fromkeys(rules)]
    return "\n".join(lines) + "\n"


def index(definitions: list[base.Definition]) -> str:
    """The page that lists all kinds."""
    lines = [
        "# Kinds",
        "",
        "| Kind | API version | Short names | What it is |",
        "| --- " * 4 + "|",
    ]
    for definition in definitions:
        kind = definition.kind
        text = _first_sentence(crd.openapi(definition)["description"])
        short = ", ".join(definition.short_names)
        link = f"[{kind.kind}]({file_name(definition)})"
        lines.append(f"| {link} | `{kind.api_version}` | {short} | {text} |")
    return "\n".join(lines) + "\n"


def file_name(definition: base.Definition) -> str:
    """Name of the page of a kind, next to the index."""
    return f"{definition.kind.kind.lower()}.md"


def _facts(definition: base.Definition) -> list[str]:
    kind = definition.kind
    columns = ", ".join(column.name for column in definition.columns)
    facts = {
        "API version": f"`{kind.api_version}`",
        "Resource": f"`{kind.plural}`",
        "Short names": ", ".join(f"`{name}`" for name in definition.short_names),
        "Scope": "one namespace" if kind.namespaced else "the whole cluster",
        "Columns of `kubectl get`": columns,
        "Scale": "`kubectl scale` works" if definition.scale else "",
    }
    return ["| | |", "| --- | --- |"] + [f"| {k} | {v} |" for k, v in facts.items() if v]


def _table(schema: Schema) -> list[str]:
    rows = ["| Field | Type | Default | Description |", "| --- " * 4 + "|"]
    for row in _rows(schema, prefix="", seen={}):
        default = "required" if row.required else _default(row.field)
        text = _cell(row.field.get("description", ""))
        if row.same_as:
            text += f" {row.shared or 'Fields'} as in `{row.same_as}`."
        rows.append(
            f"| `{row.path}` | {_type(row.field)} | {default} | {text}{_limits(row.field)} |"
        )
    return rows


class _Row(NamedTuple):
    path: str
    field: Schema
    required: bool
    same_as: str
    """Where fields of it are described."""
    shared: str = ""
    """Which ones; empty: all."""


def _rows(schema: Schema, *, prefix: str, seen: dict[str, Schema]) -> Iterator[_Row]:
    """Walk the fields; what was described before is referred to instead of repeated."""
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        inner, suffix = _inner(field)
        below = inner.get("properties", {})
        same_as, shared = _described(below, seen)
        if len(below) > 1 and len(shared) < len(below):
            seen[path] = below
        listed = ", ".join(f"`{each}`" for each in shared) if len(shared) < len(below) else ""
        yield _Row(path, field, name in required, same_as, listed)
        if path != "conditions":
            further = {key: value for key, value in below.items() if key not in shared}
            below_path = f"{path}{suffix}."
            yield from _rows({**inner, "properties": further}, prefix=below_path, seen=seen)


def _described(fields: Schema, seen: Mapping[str, Schema]) -> tuple[str, list[str]]:
    """The earlier object that has all of these fields, else the one that has most of them."""
    found: tuple[str, list[str]] = ("", [])
    for path, earlier in seen.items():
        shared = [name for name, field in fields.items() if earlier.get(name) == field]
        is_same = len(shared) == len(fields) == len(earlier) > 1
        if is_same or len(shared) > max(len(found[1]), MOST_REPEATED):
            found = path, shared
        if is_same:
            break
    return found


def _inner(field: Schema) -> tuple[Schema, str]:
    if "items" in field:
        return field["items"], "[]"
    if "additionalProperties" in field:
        return field["additionalProperties"], ".*"
    return field, ""


def _rules(schema: Schema) -> Iterator[str]:
    for rule in schema.get("x-kubernetes-validations", []):
        yield _cell(rule["message"])
    below = [*schema.get("properties", {}).values()]
    below += [schema[word] for word in ("items", "additionalProperties") if word in schema]
    for child in below:
        yield from _rules(child)


def _type(schema: Schema) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity" if "pattern" in schema else "integer or text"
    match schema.get("type"):
        case "array":
            return f"list of {_type(schema['items'])}"
        case "object" if "additionalProperties" in schema:
            return f"map of {_type(schema['additionalProperties'])}"
        case "string":
            return "time" if schema.get("format") == "date-time" else "text"
        case name:
            return str(name or "any")


def _limits(schema: Schema) -> str:
    limits = [text.format(schema[word]) for word, text in _BOUNDS if word in schema]
    if "enum" in schema:
        limits.insert(0, "one of " + ", ".join(f"`{value}`" for value in schema["enum"]))
    return f" ({', '.join(limits)})" if limits else ""


def _default(schema: Schema) -> str:
    default = schema.get("default")
    if default is None or isinstance(default, dict):
        return ""
    return f"`{msgspec.json.encode(default).decode()}`".replace('"', "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _first_sentence(text: str) -> str:
    return _cell(text.split(". ")[0].rstrip(".") + ".")
