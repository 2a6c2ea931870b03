"""Definitions to Markdown reference pages, from the same schemas as the CRDs. Pure: no I/O."""

from collections.abc import Iterator

from cobaltcore.api import base, crd
from cobaltcore.api.schema import Schema

_BOUNDS = (
    ("minimum", "≥ {}"),
    ("maximum", "≤ {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
    ("maxProperties", "at most {} entries"),
)


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
    """Name of the page of a kind, beside the index."""
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
    for path, field, required in _fields(schema, prefix=""):
        default = "required" if required else _default(field)
        text = _cell(field.get("description", ""))
        limits = _limits(field)
        rows.append(f"| `{path}` | {_type(field)} | {default} | {text}{limits} |")
    return rows


def _fields(schema: Schema, *, prefix: str) -> Iterator[tuple[str, Schema, bool]]:
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        yield path, field, name in required
        if path != "conditions":
            yield from _fields(field, prefix=f"{path}.")
            yield from _fields(field.get("items", {}), prefix=f"{path}[].")
            yield from _fields(field.get("additionalProperties", {}), prefix=f"{path}.*.")


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
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _first_sentence(text: str) -> str:
    return _cell(text.split(". ")[0].rstrip(".") + ".")
