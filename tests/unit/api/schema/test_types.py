from typing import Annotated, Any, Literal

import msgspec
import pytest

from cobaltcore.api import schema
from cobaltcore.api.base import Meta, Quantity, Struct, Timestamp, list_map, list_set


class Item(Struct):
    name: str


class Everything(Struct):
    text: Annotated[str, Meta(min_length=1, max_length=5, pattern="^a")]
    number: Annotated[int, Meta(ge=1, le=9)]
    steps: Annotated[int, Meta(multiple_of=2)]
    weight: Annotated[float, Meta(ge=0)]
    flag: bool
    choice: Literal["b", "a"]
    level: Literal[1, 3]
    quantity: Quantity
    port_or_name: int | str
    time: Timestamp
    free: Any
    free_map: dict[str, Any]
    labels: Annotated[dict[str, str], Meta(max_length=3)]
    plain: Annotated[list[str], Meta(min_length=1, max_length=4)]
    unique: Annotated[list[str], list_set()]
    keyed: Annotated[list[Item], list_map("name")]
    opaque: Annotated[Item, Meta(extra={"preserve": True})]


def of(field: str) -> schema.Schema:
    found: schema.Schema = schema.of_struct(Everything)["properties"][field]
    return found


CASES: dict[str, schema.Schema] = {
    "text": {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a"},
    "number": {"type": "integer", "minimum": 1, "maximum": 9},
    "steps": {"type": "integer", "multipleOf": 2},
    "weight": {"type": "number", "minimum": 0},
    "flag": {"type": "boolean"},
    "choice": {"type": "string", "enum": ["a", "b"]},
    "level": {"type": "integer", "enum": [1, 3]},
    "portOrName": {"x-kubernetes-int-or-string": True},
    "time": {"type": "string", "format": "date-time"},
    "free": {"x-kubernetes-preserve-unknown-fields": True},
    "freeMap": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "labels": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "maxProperties": 3,
    },
    "plain": {
        "type": "array",
        "items": {"type": "string"},
        "x-kubernetes-list-type": "atomic",
        "minItems": 1,
        "maxItems": 4,
    },
    "unique": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
}


@pytest.mark.parametrize("field", CASES)
def test_type_becomes_schema(field: str) -> None:
    assert of(field) == CASES[field]


def test_quantity_is_an_integer_or_a_text_of_its_form() -> None:
    assert of("quantity")["x-kubernetes-int-or-string"] is True
    assert "Gi" in of("quantity")["pattern"]
    assert "type" not in of("quantity")


def test_keyed_list_names_its_keys() -> None:
    keyed = of("keyed")
    assert keyed["x-kubernetes-list-type"] == "map"
    assert keyed["x-kubernetes-list-map-keys"] == ["name"]


def test_opaque_object_keeps_unknown_fields() -> None:
    assert of("opaque")["x-kubernetes-preserve-unknown-fields"] is True


@pytest.mark.parametrize("annotation", [int | bool, bytes, Literal["a", 1]])
def test_type_without_structural_schema_is_refused(annotation: Any) -> None:
    struct = msgspec.defstruct("Odd", [("field", annotation)])
    with pytest.raises(schema.SchemaError):
        schema.of_struct(struct)
