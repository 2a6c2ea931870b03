"""What is in Keystone: the login of K-ORC, and objects that K-ORC keeps there."""

from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.desired import secret
from tests.support.control_planes import a_ready_one, applied, key
from tests.support.simulation import marker

CLOUDS = "k-orc-clouds-yaml"


def test_the_login_has_the_password_that_keystone_has() -> None:
    text = secret.text(a_ready_one().objects[SECRET, key(CLOUDS)], "clouds.yaml") or ""
    assert f"password: {marker('keystone-admin-login', 'password')}" in text


def test_a_password_that_keystone_does_not_have_yet_changes_no_login() -> None:
    plane = a_ready_one()
    plane.objects[SECRET, key("keystone-admin-credentials")]["data"] = {"password": "bmV3"}
    before = plane.objects[SECRET, key(CLOUDS)]["data"]
    plane.apply(plane.plan())
    assert plane.objects[SECRET, key(CLOUDS)]["data"] == before


def test_what_k_orc_keeps_stays_while_no_login_is_known() -> None:
    plane = a_ready_one()
    del plane.objects[SECRET, key("keystone-admin-login")]
    plan = plane.plan()
    assert f"Secret/{CLOUDS}" not in applied(plane)
    assert (korc.PROJECT, key("service")) in set(plan.keep)
    assert (korc.DOMAIN, key("default")) in set(plan.keep)


def test_a_job_of_the_catalogue_logs_in_as_keystone_knows_the_administrator() -> None:
    plane = a_ready_one()
    (job,) = (e for e in plane.plan().objects if e.key.name.startswith("catalogue-regions"))
    assert "'secretName': 'keystone-admin-login'" in str(job.body)
    assert marker("keystone-admin-credentials", "password") not in str(job.body)


def test_everything_in_keystone_is_looked_at_again() -> None:
    """What users change or delete there is repaired, although no object has changed."""
    objects = [e for e in a_ready_one().plan().objects if e.kind.group == korc.USER.group]
    assert {each.body["spec"].get("resyncPeriod") for each in objects} == {"10m"}
    assert {korc.USER, korc.ENDPOINT, korc.ROLE_ASSIGNMENT} <= {each.kind for each in objects}


def test_an_object_that_is_being_deleted_is_not_ready() -> None:
    plane = a_ready_one()
    user = plane.objects[korc.USER, key("nova-service-user")]
    user["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    verdict = plane.plan().verdict
    assert verdict.message.endswith("User 'nova-service-user' is being deleted")
