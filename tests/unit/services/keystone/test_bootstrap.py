"""The administrator's password: Keystone has it before anybody else gets it."""

import base64
from typing import Any

from cobaltcore.api.foreign.kubernetes import JOB, SECRET
from cobaltcore.engine.plan import Plan
from cobaltcore.runtime.meta import Key
from cobaltcore.services.keystone.steps.bootstrap import Attempt
from tests.support.keystones import Cloud
from tests.support.planning import NAMESPACE
from tests.support.simulation import marker

SPECIFIED, LOGIN = "keystone-admin-credentials", "keystone-admin-login"
FIRST = marker(SPECIFIED, "password")


def change(cloud: Cloud, password: str) -> None:
    obj = cloud.object(SPECIFIED)
    encoded = base64.b64encode(password.encode()).decode()
    changed = {**obj, "data": {**obj["data"], "password": encoded}}
    cloud.simulation.objects[SECRET, Key(NAMESPACE, SPECIFIED)] = changed


def end_all(cloud: Cloud, condition: str = "Complete") -> None:
    for each in cloud.jobs("bootstrap"):
        cloud.end(Key(NAMESPACE, each["metadata"]["name"]), condition)


def reason(plan: Plan[Any], cloud: Cloud) -> str:
    return cloud.condition(plan, "BootstrapReady")[1]


def test_keystone_has_the_password_of_the_spec() -> None:
    cloud = Cloud()
    login = {"username": "admin", "password": FIRST, "password-1": FIRST}
    assert cloud.keys(LOGIN) == login


def test_a_changed_password_is_handed_out_when_keystone_has_it() -> None:
    cloud = Cloud()
    change(cloud, "second")
    plan = cloud.reconcile(job="")
    assert reason(plan, cloud) == "BootstrapInProgress"
    waiting = {"username": "admin", "password": FIRST, "password-2": "second"}
    assert cloud.keys(LOGIN) == waiting
    end_all(cloud)
    cloud.reconcile()
    assert cloud.keys(LOGIN)["password"] == "second"


def test_a_job_takes_the_password_of_its_own_attempt() -> None:
    cloud = Cloud()
    change(cloud, "second")
    cloud.reconcile()
    pod = cloud.jobs("bootstrap")[-1]["spec"]["template"]["spec"]
    (login,) = [each["secret"] for each in pod["volumes"] if each["name"] == "login"]
    assert login["secretName"] == LOGIN
    assert login["items"] == [{"key": "password-2", "path": "password"}]


def test_a_password_that_keystone_refuses_is_never_handed_out() -> None:
    cloud = Cloud()
    change(cloud, "second")
    cloud.reconcile(job="Failed")
    plan = cloud.reconcile()
    assert reason(plan, cloud) == "JobFailed"
    assert cloud.keys(LOGIN)["password"] == FIRST


def test_a_password_that_is_changed_back_meanwhile_is_set_again() -> None:
    """The Job for the other one may have done its work, or still do it."""
    cloud = Cloud()
    change(cloud, "second")
    cloud.reconcile(job="")
    change(cloud, FIRST)
    running = cloud.jobs("bootstrap")[-1]["metadata"]["name"]
    plan = cloud.simulation.plan()
    assert [(e.key.name, e.propagation) for e in plan.removals] == [(running, "Foreground")]
    assert LOGIN not in {each.key.name for each in plan.objects}
    assert cloud.condition(plan, "BootstrapReady")[2] == f"Job {running!r} is being stopped"
    cloud.reconcile()
    cloud.reconcile(job="")
    assert cloud.keys(LOGIN) == {"username": "admin", "password": FIRST, "password-3": FIRST}
    plan = cloud.reconcile()
    assert reason(plan, cloud) == "BootstrapInProgress", "the first Job is no proof any more"
    end_all(cloud)
    assert reason(cloud.reconcile(), cloud) == "Bootstrapped"


def test_names_of_jobs_tell_nothing_about_passwords() -> None:
    first, second = Cloud(), Cloud()
    change(first, "one")
    change(second, "another")
    for each in (first, second):
        each.reconcile()
    names = [[job["metadata"]["name"] for job in c.jobs("bootstrap")] for c in (first, second)]
    assert names[0] == names[1]


def test_jobs_ask_for_little_when_keystone_runs_already() -> None:
    cloud = Cloud()
    change(cloud, "second")
    cloud.reconcile()
    first, second = (
        job["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"]
        for job in cloud.jobs("bootstrap")
    )
    assert (first, second) == ("500m", "100m")


def test_a_job_that_ended_is_not_stopped() -> None:
    cloud = Cloud()
    change(cloud, "second")
    plan = cloud.reconcile()
    assert not [each for each in plan.removals if each.kind == JOB]


def test_other_keys_of_the_login_are_no_attempts() -> None:
    data = {"password-x": "Zm9v", "password": "Zm9v"}
    attempt = Attempt.read({"data": data})
    assert (attempt.number, attempt.in_use) == (0, "foo")
