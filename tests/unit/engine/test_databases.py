"""Databases are prepared as soon as there is a server for them, whatever else is missing."""

from dataclasses import replace

import pytest

from cobaltcore.api.foreign.kubernetes import JOB, SECRET
from cobaltcore.engine import databases, plan, steps
from cobaltcore.engine.definition import Facts
from cobaltcore.engine.observe import Observed
from cobaltcore.engine.verdict import Waiting
from cobaltcore.runtime.meta import Key, Kind
from tests.support import planning


def without(facts: Facts, *secrets: str) -> Facts:
    """The same, but some Secrets do not exist."""
    known = facts.observed

    def content(kind: Kind, key: Key) -> bool:
        return not (kind == SECRET and key.name in secrets)

    contents = {k: v for k, v in known.contents.items() if content(*k)}
    return replace(facts, observed=Observed(known.get, known.find, contents))


@pytest.mark.parametrize("kind", ["Glance", "Placement", "Nova", "Neutron", "Cinder"])
def test_they_do_not_wait_for_keystone(kind: str) -> None:
    facts = planning.facts(planning.with_given_database(planning.an_object(kind)))
    lacking = without(facts, facts.spec.keystone.app_credential_ref.secret)

    made = plan.plan(lacking, steps.chain(lacking))

    conditions = {each.type: each for each in made.conditions}
    assert conditions["ConfigReady"].status != "True"
    assert conditions["DatabaseReady"].reason == "DBSyncInProgress"
    (job,) = [body for body in made.objects.values() if body.kind == JOB]
    volumes = job.body["spec"]["template"]["spec"]["volumes"]
    sources = {name for volume in volumes for name in volume if name != "name"}
    assert sources <= {"configMap", "emptyDir"}
    named = [each.key.name for each in made.objects.values()]
    assert f"{facts.key.name}-preparation-environment" in named


def test_they_wait_for_their_own_login() -> None:
    facts = planning.facts(planning.an_object("Placement"))
    login = facts.spec.database.secret_ref.name

    result = databases.made(without(facts, login))

    assert isinstance(result.verdict, Waiting)
    assert result.verdict.reason == "WaitingForSecrets"
    assert login in result.verdict.message
    assert not result.objects
