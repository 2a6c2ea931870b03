from typing import Annotated, ClassVar

import msgspec

from cobaltcore.api import schema
from cobaltcore.api.base import Meta, Rule, Struct


class Inner(Struct):
    size: Annotated[int, Meta(ge=1)] = 2
    label: str | None = None


class Checked(Struct):
    __rules__: ClassVar[tuple[Rule, ...]] = (Rule("self.low < self.high", "low: below high"),)

    low: int = 1
    high: int = 9


class Nothing(Struct):
    note: str | None = None


class Outer(Struct):
    required: str
    text: str = "default"
    flag: bool = False
    unset: str | None = None
    empty_text: str = ""
    empty_list: list[str] = []
    empty_map: dict[str, str] = {}
    filled_list: list[str] = msgspec.field(default_factory=lambda: ["a", "b"])
    inner: Inner = Inner()
    changed: Inner = Inner(size=5)
    checked: Checked = Checked()
    nothing: Nothing = Nothing()


def defaults(**options: bool) -> dict[str, object]:
    properties = schema.of_struct(Outer, **options)["properties"]
    return {name: each["default"] for name, each in properties.items() if "default" in each}


def test_scalars_and_filled_lists_become_defaults() -> None:
    found = defaults()
    assert found["text"] == "default"
    assert found["flag"] is False
    assert found["filledList"] == ["a", "b"]


def test_unset_and_empty_values_are_no_defaults() -> None:
    assert not {"unset", "emptyText", "emptyList", "emptyMap", "required"} & defaults().keys()


def test_struct_with_defaults_below_becomes_an_empty_object() -> None:
    assert defaults()["inner"] == {}


def test_struct_default_keeps_what_differs() -> None:
    assert defaults()["changed"] == {"size": 5}


def test_struct_with_rules_is_filled_because_rules_see_the_default_as_it_is() -> None:
    assert defaults()["checked"] == {"low": 1, "high": 9}


def test_struct_without_any_default_below_has_none() -> None:
    assert "nothing" not in defaults()


def test_status_has_no_defaults() -> None:
    assert defaults(defaults=False) == {}


def test_only_fields_without_default_are_required() -> None:
    assert schema.of_struct(Outer)["required"] == ["required"]
