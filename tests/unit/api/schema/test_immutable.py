from typing import Annotated

import pytest

from cobaltcore.api import schema
from cobaltcore.api.base import Immutable, Meta, Struct


class Thing(Struct):
    required: Annotated[str, Meta(max_length=9), Immutable]
    defaulted: Annotated[str, Immutable] = "a"
    optional: Annotated[str, Immutable] | None = None
    namespace: Annotated[str | None, Immutable] = None
    free: str = ""


def rules(part: schema.Schema) -> list[str]:
    return [each["rule"] for each in part.get("x-kubernetes-validations", [])]


@pytest.mark.parametrize("field", ["required", "defaulted", "optional", "namespace"])
def test_immutable_field_cannot_change(field: str) -> None:
    found = schema.of_struct(Thing)["properties"][field]
    assert rules(found) == ["self == oldSelf"]
    assert field in found["x-kubernetes-validations"][0]["message"]


def test_immutable_field_that_may_be_unset_cannot_be_removed() -> None:
    assert rules(schema.of_struct(Thing)) == [
        "!has(oldSelf.optional) || has(self.optional)",
        "!has(oldSelf.__namespace__) || has(self.__namespace__)",
    ]


def test_other_fields_stay_free() -> None:
    assert rules(schema.of_struct(Thing)["properties"]["free"]) == []
