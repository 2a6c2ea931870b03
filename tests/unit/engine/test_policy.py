"""Policy rules that a service could not parse are reported before they are rolled out."""

import pytest

from cobaltcore.engine import policy, steps
from cobaltcore.engine.verdict import InputInvalid
from tests.support import planning

VALID = (
    "",
    "!",
    "@",
    "role:reader",
    "rule:admin_required or user_id:%(user_id)s",
    "(role:admin and system_scope:all) or (role:reader and not project_id:%(target.project.id)s)",
    "not (role:a or role:b)",
    "'member':%(role.name)s",
    "((role:a))",
    "role:a AND role:b",
    "http://policy.example/check",
)
INVALID = (
    ("role:admin and", "a check is missing at the end"),
    ("or role:admin", "a check is missing before 'or'"),
    ("(role:admin", "a closing parenthesis is missing"),
    ("role:admin)", "')' cannot follow"),
    ("role:a role:b", "'check' cannot follow"),
    ("admin", "'admin' is no check"),
    ("role:a plus role:b", "'plus' is no check"),
    ("'admin'", "'admin' is a text"),
    ("()", "a check is missing before ')'"),
    ("not", "a check is missing at the end"),
)


@pytest.mark.parametrize("rule", VALID)
def test_rule_that_parses_has_no_fault(rule: str) -> None:
    assert policy.fault(rule) == ""


@pytest.mark.parametrize(("rule", "fault"), INVALID)
def test_fault_of_a_rule_names_the_place(rule: str, fault: str) -> None:
    assert fault in policy.fault(rule)


def test_configuration_with_a_rule_that_does_not_parse_is_blocked() -> None:
    rules = {"identity:get_user": "role:reader plus"}
    scope = planning.scope(planning.an_object("Keystone", policyOverrides={"rules": rules}))

    with pytest.raises(
        InputInvalid, match="rule 'identity:get_user': 'plus' is no check"
    ) as found:
        steps.config(scope)

    assert found.value.verdict.reason == "PolicyInvalid"
