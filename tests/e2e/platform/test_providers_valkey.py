"""Valkey in the lab: created from the example, used from a pod, restarted, kept and removed."""

import base64
from dataclasses import dataclass

import pytest

from tests.support import lab_providers, workloads
from tests.support.lab import Lab, eventually

CLAIM = "valkey-data-valkey-cache-primary-0"
POD = "valkey-cache-primary-0"
# The password comes on stdin, so that it is on no command line.
COMMAND = 'read -r REDISCLI_AUTH && export REDISCLI_AUTH && exec valkey-cli "$@"'


@dataclass(frozen=True)
class Client:
    """A pod with the Valkey client and the binding Secret."""

    lab: Lab
    namespace: str

    def binding(self) -> dict[str, str]:
        found = self.lab.get("secret", "-n", self.namespace, "valkey-cache-binding")
        data = found.get("data", {})
        return {name: base64.b64decode(value).decode() for name, value in data.items()}

    def ask(self, *words: str, password: str = "", port: str = "6379") -> str:
        """The reply of the server; empty without an answer."""
        bound = self.binding()
        host = bound.get("primaryHost") or bound["sentinelHost"]
        return self.lab.attempt(
            "exec", "-i", "-n", self.namespace, "client", "--",
            "sh", "-c", COMMAND, "sh", "-h", host, "-p", port, *words,
            input=f"{password or bound['password']}\n",
        ).strip()  # fmt: skip

    def is_answered(self) -> bool:
        """Whether the server accepts the password."""
        return self.ask("PING") == "PONG"


@pytest.fixture(scope="module")
def images(lab: Lab) -> dict[str, str]:
    return lab_providers.images(lab, ["valkey"])


@pytest.fixture
def client(lab: Lab, namespace: str, images: dict[str, str]) -> Client:
    lab.create(namespace, *lab_providers.example("valkey"))
    lab.create(namespace, workloads.pod("client", images["valkey"]))
    lab.wait_for_pod(namespace, "client")
    lab_providers.wait_for(lab, namespace, "valkey", "cache")
    found = Client(lab, namespace)
    eventually(found.is_answered, "the server answers")
    return found


def test_data_survives_restart_password_change_and_recreation(
    lab: Lab, namespace: str, client: Client
) -> None:
    assert client.ask("SET", "key", "kept") == "OK"
    assert "NOAUTH" in client.ask("GET", "key", password="wrong")

    lab.kubectl("delete", "pod", "-n", namespace, POD)
    lab.wait_for_pod(namespace, POD)
    eventually(client.is_answered, "the new pod answers")
    assert client.ask("GET", "key") == "kept"

    odd = base64.b64encode(b"an 'odd' \"one\" \\").decode()
    patch = f'{{"data": {{"valkey-password": "{odd}"}}}}'
    lab.kubectl("patch", "secret", "-n", namespace, "valkey-cache", "--patch", patch)
    eventually(
        lambda: client.ask("GET", "key", password="an 'odd' \"one\" \\") == "kept",
        "the new password is accepted",
    )
    assert client.binding()["password"] == "an 'odd' \"one\" \\"

    volume = lab.get("pvc", "-n", namespace, CLAIM)["spec"]["volumeName"]
    lab.kubectl("delete", "valkey", "-n", namespace, "cache")
    eventually(lambda: not lab.get("pod", "-n", namespace, POD), "the server is deleted")
    assert lab.get("pvc", "-n", namespace, CLAIM)["spec"]["volumeName"] == volume
    eventually(lambda: not client.binding(), "the binding is deleted")
    lab.create(namespace, *lab_providers.example("valkey"))
    lab_providers.wait_for(lab, namespace, "valkey", "cache")
    eventually(client.is_answered, "the new server answers")
    assert client.ask("GET", "key") == "kept"


def test_a_sentinel_returns_the_primary(lab: Lab, namespace: str, client: Client) -> None:
    (cache,) = lab_providers.example("valkey")
    lab.kubectl("delete", "valkey", "-n", namespace, "cache")
    eventually(lambda: not lab.get("pod", "-n", namespace, POD), "the server is deleted")
    cache["spec"]["sentinel"] = {"enabled": True}
    lab.create(namespace, cache)
    lab_providers.wait_for(lab, namespace, "valkey", "cache")
    question = ("SENTINEL", "get-primary-addr-by-name", "myprimary")
    host = f"valkey-cache-primary.{namespace}.svc.cluster.local"
    eventually(lambda: host in client.ask(*question, port="26379"), "the sentinel answers")


def test_data_is_deleted_if_the_object_requests_it(
    lab: Lab, namespace: str, client: Client
) -> None:
    assert client.ask("SET", "key", "lost") == "OK"
    lab.kubectl("annotate", "valkey", "-n", namespace, "cache", "c5c3.io/delete-data=true")
    eventually(
        lambda: lab.get("pvc", "-n", namespace, CLAIM)["metadata"].get("ownerReferences"),
        "the volume is deleted with the server",
    )
    lab.kubectl("delete", "valkey", "-n", namespace, "cache")
    eventually(lambda: not lab.get("pvc", "-n", namespace, CLAIM), "the volume is deleted")
