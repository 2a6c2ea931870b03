"""Database, User and Grant as SQL: nothing from an object is read as SQL."""

import pytest

from cobaltcore.api.foreign.mariadb import (
    DatabaseSpec,
    GrantSpec,
    MariaDBRef,
    SecretKeyRef,
    UserSpec,
)
from cobaltlab.providers import mariadb_sql
from cobaltlab.providers.failures import InvalidSpec

SERVER = MariaDBRef(name="db")


def a_grant(**spec: object) -> GrantSpec:
    fields = {"privileges": ["SELECT"], "username": "keystone", "database": "keystone", **spec}
    return GrantSpec(maria_db_ref=SERVER, **fields)  # type: ignore[arg-type]


def test_names_cannot_leave_their_quotes() -> None:
    spec = DatabaseSpec(maria_db_ref=SERVER, name="a`; DROP DATABASE b; --%s")
    (statement,) = mariadb_sql.drop_database(spec)
    assert statement.text % () == "DROP DATABASE IF EXISTS `a``; DROP DATABASE b; --%s`"


def test_a_password_is_a_parameter_and_not_part_of_a_statement() -> None:
    ref = SecretKeyRef(name="s", key="password")
    spec = UserSpec(maria_db_ref=SERVER, name="keystone", password_secret_key_ref=ref)
    for statement in mariadb_sql.create_user(spec, "hidden"):
        assert "hidden" not in statement.text
        assert "hidden" in statement.values
        assert "MAX_USER_CONNECTIONS 10" in statement.text


def test_the_init_file_escapes_any_password() -> None:
    text = mariadb_sql.start_statements("a'b\\c\nd")
    assert "IDENTIFIED BY 'a\\'b\\\\c\\nd';" in text
    assert all(line.endswith(";") for line in text.splitlines())


@pytest.mark.parametrize(
    "privilege", ["SELECT", "ALL PRIVILEGES", "CREATE TEMPORARY TABLES", "SELECT (a, b)"]
)
def test_privileges_are_granted_as_written(privilege: str) -> None:
    (statement,) = mariadb_sql.grant(a_grant(privileges=[privilege]))
    assert statement.text == f"GRANT {privilege} ON `keystone`.* TO %s@%s"


@pytest.mark.parametrize("privilege", ["", "SELECT; DROP", "SELECT ON *.* TO x; --", "SELECT ("])
def test_an_invalid_privilege_is_refused(privilege: str) -> None:
    with pytest.raises(InvalidSpec, match="is not a privilege"):
        mariadb_sql.grant(a_grant(privileges=[privilege]))


def test_surplus_privileges_are_revoked_first() -> None:
    revoke, grant = mariadb_sql.grant(a_grant(), ["INSERT"])
    assert revoke.text == "REVOKE INSERT ON `keystone`.* FROM %s@%s"
    assert mariadb_sql.NO_SUCH_GRANT in revoke.ignored_errors
    assert grant.text.startswith("GRANT SELECT")


def test_a_wildcard_database_is_not_quoted() -> None:
    (statement,) = mariadb_sql.grant(a_grant(database="*", grant_option=True))
    assert statement.text == "GRANT SELECT ON *.* TO %s@%s WITH GRANT OPTION"
