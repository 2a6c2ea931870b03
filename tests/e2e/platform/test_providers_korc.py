"""K-ORC in the lab against a Keystone in a pod: created from the example, changed, kept and deleted."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support import lab_providers, workloads
from tests.support.lab import CommandFailed, Lab, eventually

PASSWORD = "throw-away"
GROUP = "openstack.k-orc.cloud"
OBJECTS = (
    ("domains", "default"),
    ("roles", "member"),
    ("projects", "service"),
    ("users", "glance"),
    ("roleassignments", "glance-member"),
    ("services", "image"),
    ("endpoints", "image-internal"),
)
# SQLite on a volume of the pod: the data outlives the container, and nothing else is needed. Its log of
# writes (WAL) is on, because a request of Keystone that still reads would keep its own write waiting.
SERVER = """
set -eu; cd /data
printf '[database]\\nconnection = sqlite:////data/keystone.sqlite\\n[fernet_tokens]\\nkey_repository = /data/fernet
[fernet_receipts]\\nkey_repository = /data/receipts\\n[credential]\\nkey_repository = /data/credential\\n[identity]\\npassword_hash_rounds = 4\\n' > keystone.conf
if [ ! -e ready ]; then
    mkdir -p fernet receipts credential
    python3 -c 'import sqlite3; sqlite3.connect("keystone.sqlite").execute("PRAGMA journal_mode=WAL")'
    for step in db_sync fernet_setup credential_setup; do keystone-manage --config-file keystone.conf $step; done
    OS_BOOTSTRAP_PASSWORD=$(cat /login/password) keystone-manage --config-file keystone.conf bootstrap
    touch ready
fi
export OS_KEYSTONE_CONFIG_FILES=/data/keystone.conf
exec uwsgi --http-socket :5000 --module keystone.wsgi.api:application --need-app \
    --enable-threads --threads=4 --die-on-term
"""
# Calls Keystone; the password comes on stdin.
CLIENT = """
import json, sys, urllib.request
url, user, path = sys.argv[1:]
domain = {"name": "Default"}
password = {"user": {"name": user, "domain": domain, "password": sys.stdin.read()}}
identity = {"methods": ["password"], "password": password}
if user == "admin":
    auth = {"identity": identity, "scope": {"project": {"name": "admin", "domain": domain}}}
else:
    auth = {"identity": identity}
body = json.dumps({"auth": auth}).encode()
headers = {"Content-Type": "application/json"}
request = urllib.request.Request(url + "/auth/tokens", body, headers)
with urllib.request.urlopen(request, timeout=60) as answer:
    token, output = answer.headers["X-Subject-Token"], json.load(answer)
if path:
    request = urllib.request.Request(url + path, headers={"X-Auth-Token": token})
    with urllib.request.urlopen(request, timeout=60) as answer:
        output = json.load(answer)
print(json.dumps(output))
"""


@dataclass(frozen=True)
class Keystone:
    """The Keystone pod and a client next to it."""

    lab: Lab
    namespace: str

    @property
    def url(self) -> str:
        return f"http://keystone.{self.namespace}.svc:5000/v3"

    def ask(self, path: str, *, user: str = "admin", password: str = PASSWORD) -> dict[str, Any]:
        output = self.lab.kubectl(
            "exec", "-i", "-n", self.namespace, "client", "--",
            "python3", "-c", CLIENT, self.url, user, path,
            input=password,
        )  # fmt: skip
        found: dict[str, Any] = json.loads(output)
        return found

    def names(self, collection: str) -> set[str]:
        found = self.ask(f"/{collection}")[collection]
        return {str(each["name"]) for each in found}

    def project_of(self, user: str, password: str) -> str:
        """The project of a login; empty if it is rejected."""
        try:
            output = self.ask("", user=user, password=password)
        except CommandFailed:
            return ""
        return str(output["token"].get("project", {}).get("name", ""))


def a_secret(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


def clouds_yaml(url: str) -> str:
    auth = {
        "auth_url": url,
        "username": "admin",
        "password": PASSWORD,
        "project_name": "admin",
        "user_domain_name": "Default",
        "project_domain_name": "Default",
    }
    return json.dumps({"clouds": {"openstack": {"auth_type": "password", "auth": auth}}})


@pytest.fixture
def keystone(lab: Lab, namespace: str) -> Iterator[Keystone]:
    image = lab_providers.images(lab, ["keystone"])["keystone"]
    found = Keystone(lab, namespace)
    data = {"name": "data", "path": "/data", "source": {"emptyDir": {}}}
    login = {"name": "login", "path": "/login", "source": {"secret": {"secretName": "login"}}}
    server = workloads.pod(
        "keystone",
        image,
        command=["bash", "-c", SERVER],
        mounts=[data, login],
        container={
            "readinessProbe": {"httpGet": {"path": "/v3", "port": 5000}, "periodSeconds": 1}
        },
        securityContext={"fsGroup": 42424},
    )
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "keystone"},
        "spec": {"selector": {"app": "keystone"}, "ports": [{"port": 5000}]},
    }
    lab.create(namespace, a_secret("login", password=PASSWORD), service, server)
    lab.create(namespace, workloads.pod("client", image))
    for name in ("keystone", "client"):
        lab.wait_for_pod(namespace, name)
    lab.create(namespace, a_secret("openstack-clouds", **{"clouds.yaml": clouds_yaml(found.url)}))
    yield found
    _delete_all(lab, namespace)


def test_resources_are_created_changed_kept_and_deleted(
    lab: Lab, namespace: str, keystone: Keystone
) -> None:
    here = ("-n", namespace)
    lab.create(namespace, *lab_providers.example("identity"))
    _wait_for_all(lab, namespace)
    assert keystone.project_of("glance", "change-me") == "service"
    (endpoint,) = keystone.ask("/endpoints?interface=internal")["endpoints"]
    assert endpoint["url"] == "http://glance-api.openstack.svc:9292"

    encoded = base64.b64encode(b"second 'secret'").decode()
    patch = f'{{"data": {{"password": "{encoded}"}}}}'
    lab.kubectl("patch", "secret", *here, "glance-password", "--patch", patch)
    eventually(
        lambda: keystone.project_of("glance", "second 'secret'") == "service",
        "the new password is accepted",
    )
    assert keystone.project_of("glance", "change-me") == ""

    # Keystone's container dies, and the provider continues with the next one.
    lab.attempt("exec", *here, "keystone", "--", "sh", "-c", "kill 1")
    detach = '{"spec": {"managedOptions": {"onDelete": "detach"}}}'
    lab.kubectl("patch", f"projects.{GROUP}", *here, "service", "--type=merge", "--patch", detach)
    lab.wait_for_pod(namespace, "keystone")
    _delete_all(lab, namespace)
    assert "service" in keystone.names("projects")
    assert "glance" not in keystone.names("users")
    assert "glance" not in keystone.names("services")
    assert "member" in keystone.names("roles")

    lab.create(namespace, *lab_providers.example("identity"))
    _wait_for_all(lab, namespace)
    assert keystone.project_of("glance", "change-me") == "service"


def _wait_for_all(lab: Lab, namespace: str) -> None:
    for kind, name in OBJECTS:
        lab_providers.wait_for(lab, namespace, f"{kind}.{GROUP}", name, condition="Available")


def _delete_all(lab: Lab, namespace: str) -> None:
    kinds = ",".join(f"{kind}.{GROUP}" for kind, _ in OBJECTS)
    lab.kubectl("delete", kinds, "-n", namespace, "--all", "--timeout=180s")
