"""MariaDB in the lab: created from the example, used from a pod, restarted, kept and removed."""

import base64
from dataclasses import dataclass

import pytest

from tests.support import lab_providers, workloads
from tests.support.lab import CommandFailed, Lab, eventually

CLAIM = "storage-db-0"


@dataclass(frozen=True)
class Client:
    """A pod with the MariaDB client; the login comes on stdin."""

    lab: Lab
    namespace: str

    def query(self, statement: str, *, password: str, user: str = "keystone") -> str:
        login = f"[client]\nuser={user}\npassword={password}\n"
        return self.lab.kubectl(
            "exec", "-i", "-n", self.namespace, "client", "--",
            "mariadb", "--defaults-file=/dev/stdin", f"--host=db.{self.namespace}.svc",
            "--batch", "--skip-column-names", f"--execute={statement}",
            input=login,
        ).strip()  # fmt: skip

    def accepts(self, password: str, *, user: str = "keystone") -> bool:
        try:
            return self.query("SELECT 1", password=password, user=user) == "1"
        except CommandFailed:
            return False


@pytest.fixture(scope="module")
def images(lab: Lab) -> dict[str, str]:
    return lab_providers.images(lab, ["mariadb"])


@pytest.fixture
def client(lab: Lab, namespace: str, images: dict[str, str]) -> Client:
    lab.create(namespace, *lab_providers.example("mariadb"))
    lab.create(namespace, workloads.pod("client", images["mariadb"]))
    lab.wait_for_pod(namespace, "client")
    _wait_for_all(lab, namespace)
    return Client(lab, namespace)


def test_a_database_survives_restart_password_change_and_recreation(
    lab: Lab, namespace: str, client: Client
) -> None:
    client.query(
        "CREATE TABLE keystone.t (i INT); INSERT INTO keystone.t VALUES (1)", password="change-me"
    )

    lab.kubectl("delete", "pod", "-n", namespace, "db-0")
    lab.wait_for_pod(namespace, "db-0")
    eventually(lambda: client.accepts("change-me"), "the new pod answers")
    assert client.query("SELECT i FROM keystone.t", password="change-me") == "1"

    lab_providers.set_password(lab, namespace, "keystone-database", "second 'secret'")
    eventually(lambda: client.accepts("second 'secret'"), "the new password is accepted")
    assert not client.accepts("change-me")

    lab_providers.set_password(lab, namespace, "db-root", "a-new-root")
    eventually(
        lambda: client.accepts("a-new-root", user="root"), "the new root password is accepted"
    )
    lab_providers.wait_for(lab, namespace, "mariadb", "db")

    volume = lab.get("pvc", "-n", namespace, CLAIM)["spec"]["volumeName"]
    _delete(lab, namespace)
    assert lab.get("pvc", "-n", namespace, CLAIM)["spec"]["volumeName"] == volume
    lab.create(namespace, *lab_providers.example("mariadb"))
    _wait_for_all(lab, namespace)
    eventually(lambda: client.accepts("change-me"), "the new server answers")
    assert client.query("SELECT i FROM keystone.t", password="change-me") == "1"


def test_data_is_deleted_if_the_object_requests_it(
    lab: Lab, namespace: str, client: Client
) -> None:
    client.query("CREATE TABLE keystone.t (i INT)", password="change-me")
    for kind in ("grant", "user", "database"):
        resource = f"{kind}s.k8s.mariadb.com"
        lab.kubectl(
            "patch", resource, "-n", namespace, "keystone", "--type=merge",
            "--patch", '{"spec": {"cleanupPolicy": "Delete"}}',
        )  # fmt: skip
        lab.kubectl("delete", resource, "-n", namespace, "keystone")
    root = lab.get("secret", "-n", namespace, "db-root")["data"]["password"]
    password = base64.b64decode(root).decode()
    assert "keystone" not in client.query("SHOW DATABASES", password=password, user="root")
    assert not client.accepts("change-me")

    lab.kubectl("annotate", "mariadb", "-n", namespace, "db", "c5c3.io/delete-data=true")
    eventually(
        lambda: lab.get("pvc", "-n", namespace, CLAIM)["metadata"].get("ownerReferences"),
        "the volume is deleted with the server",
    )
    lab.kubectl("delete", "mariadb", "-n", namespace, "db")
    eventually(lambda: not lab.get("pvc", "-n", namespace, CLAIM), "the volume is deleted")


def _wait_for_all(lab: Lab, namespace: str) -> None:
    for kind in ("database", "user", "grant"):
        lab_providers.wait_for(lab, namespace, f"{kind}s.k8s.mariadb.com", "keystone")


def _delete(lab: Lab, namespace: str) -> None:
    for kind in ("grants", "users", "databases", "mariadbs"):
        lab.kubectl("delete", f"{kind}.k8s.mariadb.com", "-n", namespace, "--all")
    eventually(lambda: not lab.get("pod", "-n", namespace, "db-0"), "the server is deleted")
