"""Databases are prepared as soon as there is a server for them, whatever else is missing."""

from dataclasses import replace

import pytest

from cobaltcore.api.foreign.kubernetes import JOB, SECRET
from cobaltcore.engine import chain, databases, steps
from cobaltcore.engine.definition import AnyScope
from cobaltcore.engine.desired import database
from cobaltcore.engine.observed import Observed
from cobaltcore.engine.verdict import Waiting
from cobaltcore.runtime.meta import Key, Kind
from tests.support import planning


def without(scope: AnyScope, *secrets: str) -> AnyScope:
    """The same, but some Secrets do not exist."""
    known = scope.observed

    def content(kind: Kind, key: Key) -> bool:
        return not (kind == SECRET and key.name in secrets)

    contents = {k: v for k, v in known.contents.items() if content(*k)}
    return replace(scope, observed=Observed(known.get, known.find, contents=contents))


@pytest.mark.parametrize("kind", ["Glance", "Placement", "Nova", "Neutron", "Cinder"])
def test_they_do_not_wait_for_keystone(kind: str) -> None:
    scope = planning.scope(planning.with_external_database(planning.an_object(kind)))
    lacking = without(scope, scope.spec.keystone.app_credential_ref.secret)

    found = chain.run(lacking, steps.chain(lacking))

    conditions = {each.type: each for each in found.conditions}
    assert conditions["ConfigReady"].status != "True"
    assert conditions["DatabaseReady"].reason == "DBSyncInProgress"
    (job,) = [body for body in found.objects.values() if body.kind == JOB]
    volumes = job.body["spec"]["template"]["spec"]["volumes"]
    sources = {name for volume in volumes for name in volume if name != "name"}
    assert sources <= {"configMap", "emptyDir", "secret"}
    named = [each.key.name for each in found.objects.values()]
    assert f"{scope.key.name}-preparation-secret-options" in named


def test_they_wait_for_their_own_login() -> None:
    scope = planning.scope(planning.an_object("Placement"))
    login = scope.spec.database.secret_ref.name

    result = databases.synced(without(scope, login))

    assert isinstance(result.verdict, Waiting)
    assert result.verdict.reason == "WaitingForSecrets"
    assert login in result.verdict.message
    assert not result.objects


@pytest.mark.parametrize(
    ("host", "written"), [("db.example", "db.example"), ("fd00::1", "[fd00::1]")]
)
def test_address_of_ipv6_is_in_brackets(host: str, written: str) -> None:
    account = database.Account(host, 3306, "me", "secret")

    assert f"@{written}:3306/nova?" in database.dsn(account, "nova")
