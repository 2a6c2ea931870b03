import pytest

from cobaltcore.api import base, cinder, keystone, reference

DEFINITIONS = base.definitions()


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda each: str(each.kind))
def test_page_is_short_enough_to_read(definition: base.Definition) -> None:
    assert reference.page(definition).count("\n") < 300


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda each: str(each.kind))
def test_every_row_of_a_table_has_its_cells(definition: base.Definition) -> None:
    tables = reference.page(definition).split("## ")[1:]
    rows = [row for table in tables for row in table.splitlines() if row.startswith("| `")]
    assert rows
    assert [row for row in rows if row.replace("\\|", "").count("|") != 5] == []


def test_page_shows_type_default_limits_and_text() -> None:
    page = reference.page(keystone.Keystone.definition)
    assert "| `replicas` | integer | `3` | Number of API pods. (≥ 1, ≤ 100) |" in page
    assert "| `database` | object | required | Database of Keystone. |" in page


def test_repeated_object_is_referred_to() -> None:
    page = reference.page(cinder.Cinder.definition)
    assert page.count("caSecretRef.name`") == 1
    assert "Fields as in `database.tls.caSecretRef`." in page
    assert "`backends[].rbd.cephSecretRef.name`" not in page


def test_page_lists_the_rules() -> None:
    assert "- image: set exactly one of tag and digest" in reference.page(
        keystone.Keystone.definition
    )


def test_index_links_every_page() -> None:
    index = reference.index(DEFINITIONS)
    assert [d for d in DEFINITIONS if f"({reference.file_name(d)})" not in index] == []
