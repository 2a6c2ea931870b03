"""The password of the database server is kept with its volumes."""

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.api.foreign.mariadb import MARIADB
from cobaltcore.api.foreign.rabbitmq import CLUSTER
from cobaltcore.api.foreign.valkey import VALKEY
from cobaltcore.engine.verdict import Blocked, Ready
from tests.support.control_planes import a_certified_one, a_ready_one, applied, key
from tests.support.simulation import Simulation

ROOT = "mariadb-root"


def reference(plane: Simulation) -> dict[str, object]:
    (found,) = (each for each in plane.plan().objects if each.kind == MARIADB)
    return dict(found.body["spec"]["rootPasswordSecretKeyRef"])


def test_password_is_created_before_the_server_and_stays_with_its_data() -> None:
    plane = a_certified_one()
    (secret,) = (each for each in plane.plan().objects if each.key.name == ROOT)
    names = [each.key.name for each in plane.plan().objects]
    assert names.index(ROOT) < names.index("mariadb")
    assert (secret.once, secret.kept) == (True, True)
    assert reference(plane) == {"name": ROOT, "key": "password"}


def test_password_goes_with_the_data_when_the_policy_is_delete() -> None:
    plane = a_certified_one(deletionPolicy="Delete")
    (secret,) = (each for each in plane.plan().objects if each.key.name == ROOT)
    assert not secret.kept


def test_volumes_of_servers_follow_the_policy() -> None:
    def of_servers(policy: str) -> dict[str, tuple[object, object]]:
        plane = a_certified_one(deletionPolicy=policy, infrastructure__valkey={})
        return {
            each.kind.kind: (
                each.body["spec"].get("storage", {}).get("pvcRetentionPolicy"),
                each.body["metadata"].get("annotations"),
            )
            for each in plane.plan().objects
            if each.kind in (MARIADB, CLUSTER, VALKEY)
        }

    kept = (None, None)
    assert of_servers("Retain") == dict.fromkeys(("MariaDB", "RabbitmqCluster", "Valkey"), kept)
    deleted = (None, {"c5c3.io/delete-data": "true"})
    assert of_servers("Delete") == {
        "MariaDB": ({"whenDeleted": "Delete"}, None),
        "RabbitmqCluster": deleted,
        "Valkey": deleted,
    }


def test_password_that_the_operator_of_mariadb_generated_is_taken_over() -> None:
    """The reference of a server that exists cannot change."""
    plane = a_ready_one()
    generated = {"name": ROOT, "key": "password", "generate": True}
    plane.objects[MARIADB, key("mariadb")]["spec"]["rootPasswordSecretKeyRef"] = generated
    assert reference(plane) == generated
    (secret,) = (each for each in plane.plan().objects if each.key.name == ROOT)
    assert secret.adopts == ("MariaDB",)


def test_password_that_is_lost_is_not_replaced() -> None:
    plane = a_ready_one()
    del plane.objects[SECRET, key(ROOT)]
    verdict = plane.plan().verdict
    assert isinstance(verdict, Blocked)
    assert verdict.reason == "KeysLost"
    assert f"Secret {ROOT!r} does not exist any more" in verdict.message
    assert f"kubectl create secret generic {ROOT}" in verdict.message
    assert f"Secret/{ROOT}" not in applied(plane)
    plane.add_secret(key(ROOT))
    assert isinstance(plane.plan().verdict, Ready)
