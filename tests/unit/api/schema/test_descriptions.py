from cobaltcore.api import schema
from cobaltcore.api.base import Struct


class Base(Struct):
    """What is shared."""

    inherited: str = ""
    """Described by the base."""


class Part(Struct):
    """What a part is."""

    name: str
    """Name of
    the part."""
    undescribed: str = ""


class Whole(Base):
    """What the whole is.

    In two paragraphs.
    """

    part: Part
    """Which part it has."""
    parts: list[Part] = []
    """More of them."""


def properties() -> dict[str, schema.Schema]:
    found: dict[str, schema.Schema] = schema.of_struct(Whole)["properties"]
    return found


def test_class_docstring_describes_the_object_in_one_paragraph() -> None:
    assert schema.of_struct(Whole)["description"] == "What the whole is. In two paragraphs."


def test_docstring_below_a_field_describes_it() -> None:
    assert properties()["parts"]["description"] == "More of them."


def test_description_of_the_field_wins_over_that_of_its_struct() -> None:
    assert properties()["part"]["description"] == "Which part it has."


def test_items_are_described_by_their_struct() -> None:
    assert properties()["parts"]["items"]["description"] == "What a part is."


def test_line_breaks_become_spaces() -> None:
    assert properties()["part"]["properties"]["name"]["description"] == "Name of the part."


def test_inherited_field_keeps_its_description() -> None:
    assert properties()["inherited"]["description"] == "Described by the base."


def test_field_without_docstring_has_no_description() -> None:
    assert "description" not in properties()["part"]["properties"]["undescribed"]


def test_struct_defined_in_a_function_is_described() -> None:
    class Local(Struct):
        field: str = ""
        """Described inside a function."""

    assert (
        schema.of_struct(Local)["properties"]["field"]["description"]
        == "Described inside a function."
    )
