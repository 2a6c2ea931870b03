"""RabbitMQ in the lab: created from the example, used from a pod, restarted, kept and removed."""

import base64
import importlib.util
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import lab_providers, workloads
from tests.support.lab import CommandFailed, Lab, eventually

CLAIM = "persistence-mq-server-0"
GROUP = "rabbitmq.com"
LIBRARIES = ("amqp", "vine")


@dataclass(frozen=True)
class Client:
    """A pod with the AMQP client of OpenStack; the password comes on stdin."""

    lab: Lab
    namespace: str

    def run(self, action: str, *texts: str, password: str) -> str:
        return self.lab.kubectl(
            "exec", "-i", "-n", self.namespace, "client", "--",
            "env", "PYTHONPATH=/files/libraries.zip", "python3", "/files/client.py",
            f"mq.{self.namespace}.svc", "nova", "nova", action, *texts,
            input=f"{password}\n",
        )  # fmt: skip

    def accepts(self, password: str) -> bool:
        try:
            self.run("look", password=password)
        except CommandFailed:
            return False
        return True


@pytest.fixture(scope="module")
def images(lab: Lab) -> dict[str, str]:
    return lab_providers.images(lab, ["rabbitmq"])


@pytest.fixture
def client(lab: Lab, namespace: str, images: dict[str, str]) -> Client:
    lab.create(namespace, *lab_providers.example("rabbitmq"))
    files = {"name": "files", "path": "/files", "source": {"secret": {"secretName": "client"}}}
    pod = workloads.pod("client", images["rabbitmq"], mounts=[files])
    lab.create(namespace, _files(), pod)
    lab.wait_for_pod(namespace, "client")
    _wait_for_all(lab, namespace)
    found = Client(lab, namespace)
    eventually(lambda: found.accepts("change-me"), "the broker answers")
    return found


def test_messages_survive_restart_password_change_and_recreation(
    lab: Lab, namespace: str, client: Client
) -> None:
    assert client.run("publish", "hello", password="change-me") == "hello"

    lab.kubectl("delete", "pod", "-n", namespace, "mq-server-0")
    lab.wait_for_pod(namespace, "mq-server-0")
    eventually(lambda: client.accepts("change-me"), "the new pod answers")
    assert client.run("look", password="change-me") == "hello"

    lab_providers.set_password(lab, namespace, "nova-messaging", "second 'secret'")
    eventually(lambda: client.accepts("second 'secret'"), "the new password is accepted")
    assert not client.accepts("change-me")

    volume = lab.get("pvc", "-n", namespace, CLAIM)["spec"]["volumeName"]
    # Without the broker nothing is taken back from it.
    lab.kubectl("delete", f"rabbitmqclusters.{GROUP}", "-n", namespace, "--all")
    for kind in ("permissions", "users", "vhosts"):
        lab.kubectl("delete", f"{kind}.{GROUP}", "-n", namespace, "--all")
    eventually(lambda: not lab.get("pod", "-n", namespace, "mq-server-0"), "the broker is deleted")
    assert lab.get("pvc", "-n", namespace, CLAIM)["spec"]["volumeName"] == volume
    lab.create(namespace, *lab_providers.example("rabbitmq"))
    _wait_for_all(lab, namespace)
    eventually(lambda: client.accepts("change-me"), "the new broker answers")
    assert client.run("look", password="change-me") == "hello"


def test_a_changed_administrator_password_is_used(
    lab: Lab, namespace: str, client: Client, images: dict[str, str]
) -> None:
    lab_providers.set_password(lab, namespace, "mq-default-user", "changed-password")
    eventually(lambda: _administers(client, "changed-password"), "the new password is accepted")
    lab_providers.set_password(lab, namespace, "nova-messaging", "third")
    eventually(lambda: client.accepts("third"), "the provider uses it as well")


def test_data_is_deleted_if_the_object_requests_it(
    lab: Lab, namespace: str, client: Client
) -> None:
    client.run("publish", "hello", password="change-me")
    for kind in ("permissions", "users", "vhosts"):
        lab.kubectl("delete", f"{kind}.{GROUP}", "-n", namespace, "nova")
    assert not client.accepts("change-me")
    cluster = f"rabbitmqclusters.{GROUP}"
    lab.kubectl("annotate", cluster, "-n", namespace, "mq", "c5c3.io/delete-data=true")
    eventually(
        lambda: lab.get("pvc", "-n", namespace, CLAIM)["metadata"].get("ownerReferences"),
        "the volume is deleted with the broker",
    )
    lab.kubectl("delete", cluster, "-n", namespace, "mq")
    eventually(lambda: not lab.get("pvc", "-n", namespace, CLAIM), "the volume is deleted")


def _administers(client: Client, password: str) -> bool:
    """Whether the management API accepts the administrator."""
    login = client.lab.get("secret", "-n", client.namespace, "mq-default-user")["data"]
    username = base64.b64decode(login["username"]).decode()
    address = f"http://mq.{client.namespace}.svc:15672/api/whoami"
    script = (
        "import base64, sys, urllib.request as u; "
        "t = base64.b64encode(sys.stdin.read().encode()).decode(); "
        f"r = u.Request('{address}', headers={{'Authorization': 'Basic ' + t}}); "
        "print(u.urlopen(r, timeout=10).status)"
    )
    answer = client.lab.attempt(
        "exec", "-i", "-n", client.namespace, "client", "--", "python3", "-c", script,
        input=f"{username}:{password}",
    )  # fmt: skip
    return answer.strip() == "200"


def _files() -> dict[str, object]:
    """The client and its pure Python libraries as a zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in LIBRARIES:
            found = importlib.util.find_spec(name)
            assert found is not None
            assert found.origin is not None
            folder = Path(found.origin).parent
            for path in folder.rglob("*.py"):
                archive.write(path, f"{name}/{path.relative_to(folder)}")
    program = (Path(__file__).parent / "amqp_client.py").read_bytes()
    files = {"libraries.zip": packed.getvalue(), "client.py": program}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "client"},
        "data": {name: base64.b64encode(content).decode() for name, content in files.items()},
    }


def _wait_for_all(lab: Lab, namespace: str) -> None:
    for kind in ("vhosts", "users", "permissions"):
        lab_providers.wait_for(lab, namespace, f"{kind}.{GROUP}", "nova")
