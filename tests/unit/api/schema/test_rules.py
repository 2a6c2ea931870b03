from typing import Annotated, ClassVar

from cobaltcore.api import schema
from cobaltcore.api.base import Meta, Rule, Struct, checked


class Base(Struct):
    __rules__: ClassVar[tuple[Rule, ...]] = (Rule("has(self.a)", "a: required", "a"),)

    a: str | None = None


class Derived(Base):
    __rules__: ClassVar[tuple[Rule, ...]] = (Rule("has(self.b)", "b: required", ".b"),)

    b: str | None = None
    even: Annotated[
        int,
        Meta(ge=0),
        checked(Rule("self % 2 == 0", "must be even")),
        checked(Rule("self < 8", "below 8")),
    ] = 0


def test_rules_carry_message_and_path() -> None:
    assert schema.of_struct(Base)["x-kubernetes-validations"] == [
        {"rule": "has(self.a)", "message": "a: required", "fieldPath": ".a"}
    ]


def test_rules_of_the_base_come_first() -> None:
    found = schema.of_struct(Derived)["x-kubernetes-validations"]
    assert [each["fieldPath"] for each in found] == [".a", ".b"]


def test_rules_of_a_type_add_up() -> None:
    even = schema.of_struct(Derived)["properties"]["even"]
    assert [each["message"] for each in even["x-kubernetes-validations"]] == [
        "must be even",
        "below 8",
    ]
    assert even["minimum"] == 0


def test_reserved_words_are_spelled_for_cel() -> None:
    assert schema.cel_name("namespace") == "__namespace__"
    assert schema.cel_name("a-b.c") == "a__dash__b__dot__c"
    assert schema.cel_name("plain") == "plain"
