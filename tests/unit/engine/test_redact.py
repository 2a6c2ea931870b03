"""No value of a Secret reaches a condition by way of a log."""

import base64

import pytest

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET
from cobaltcore.engine.plan import Plan
from cobaltcore.engine.redact import redactor
from cobaltcore.engine.report import without_secrets
from cobaltcore.engine.verdict import Waiting, condition
from cobaltcore.runtime.meta import Key
from tests.support import openstack, planning


def a_secret(**values: str) -> dict[str, dict[str, str]]:
    return {"data": {k: base64.b64encode(v.encode()).decode() for k, v in values.items()}}


REDACT = redactor(
    {
        (SECRET, Key("a", "login")): a_secret(username="keystone-user", password="p/a+ssw0rd"),
        (SECRET, Key("a", "key")): a_secret(key="-----BEGIN-----\nMIIEvQIBADAN\n", short="abc"),
        (SECRET, Key("a", "broken")): {"data": {"binary": "/w==", "text": "no base64 at all"}},
        (SECRET, Key("a", "empty")): {},
        (CONFIG_MAP, Key("a", "settings")): {"data": {"region": "RegionOne"}},
    }
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("access denied with p/a+ssw0rd", "access denied with ***"),
        ("rabbit://u:p%2Fa%2Bssw0rd@host:5672/", "rabbit://***@host:5672/"),
        ("mysql+pymysql://a:unknown@db/nova: refused", "mysql+pymysql://***@db/nova: refused"),
        ("MIIEvQIBADAN is no key", "*** is no key"),
        ("keystone-user of RegionOne: abc", "keystone-user of RegionOne: abc"),
        ("https://keystone:5000/v3 by a@b", "https://keystone:5000/v3 by a@b"),
    ],
)
def test_secret_values_and_logins_are_hidden(text: str, shown: str) -> None:
    assert REDACT(text) == shown


def test_conditions_of_an_object_show_nothing_of_the_secrets_that_it_names() -> None:
    scope = planning.scope(planning.an_object("Nova"))
    log = f"Job failed: mysql+pymysql://nova:{openstack.CONTENT['password']}@mariadb/nova"
    verdict = Waiting("JobFailed", log)
    plan = without_secrets(
        Plan(verdict=verdict, conditions=[condition("DatabaseReady", verdict)]), scope
    )
    assert plan.verdict.message == "Job failed: mysql+pymysql://***@mariadb/nova"
    assert [each.message for each in plan.conditions] == [plan.verdict.message]
