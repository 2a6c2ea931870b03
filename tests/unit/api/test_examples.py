from typing import Any

import msgspec
import pytest

from cobaltcore.api import base
from tests.support import structural

EXAMPLES = structural.examples()
STRUCTS = {(each.kind.api_version, each.kind.kind): each.struct for each in base.definitions()}
SCHEMAS = structural.schemas()


def survivors(obj: dict[str, Any], part: str) -> tuple[Any, Any]:
    """One part of an object as it is read and written again, and as it was; both normalised."""
    kind = obj["apiVersion"], obj["kind"]
    written = msgspec.to_builtins(msgspec.convert(obj, STRUCTS[kind], strict=True))
    schema = SCHEMAS[kind]["properties"][part]
    return normalised(written[part], schema), normalised(obj[part], schema)


def normalised(value: Any, schema: structural.Schema) -> Any:
    """Defaults filled in, empty fields left out: to the models both mean the same."""
    return without_empty(structural.with_defaults(value, schema))


def without_empty(value: Any) -> Any:
    if not isinstance(value, dict):
        return [without_empty(each) for each in value] if isinstance(value, list) else value
    return {key: without_empty(each) for key, each in value.items() if each not in ("", [], {})}


def test_every_kind_has_an_example() -> None:
    assert {(each["apiVersion"], each["kind"]) for each in EXAMPLES} == STRUCTS.keys()


@pytest.mark.parametrize("example", EXAMPLES, ids=structural.identify)
def test_spec_survives_the_typed_model(example: dict[str, Any]) -> None:
    written, expected = survivors(example, "spec")
    assert written == expected


@pytest.mark.parametrize("example", structural.examples_with_status(), ids=structural.identify)
def test_status_survives_the_typed_model(example: dict[str, Any]) -> None:
    written, expected = survivors(example, "status")
    assert written == expected
