"""Rotation of keys against a real Keystone, which reads them as its pods would."""

import http.client
import itertools
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet

from cobaltcore.services.keystone.steps.keyring import Keyring
from cobaltlab import errors
from tests.support.keystone import ADMIN_PASSWORD, KeystoneHarness

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MONTH = timedelta(days=31)


class Server:
    """A Keystone whose keys come from us."""

    def __init__(self, harness: KeystoneHarness) -> None:
        self.harness = harness
        self.times = itertools.count(1)
        self.rings = {
            name: Keyring.created(_key, NOW) for name in ("fernet-keys", "credential-keys")
        }
        for name in self.rings:
            self._write(name)

    def rotate(self, name: str, **options: Any) -> None:
        at = NOW + next(self.times) * MONTH
        self.rings[name] = self.rings[name].rotated(3, _key, at, **options)
        self._write(name)

    def request(
        self, method: str, path: str, body: object = None, **headers: str
    ) -> tuple[dict[str, Any], str]:
        data = json.dumps(body).encode() if body is not None else None
        sent = {"Content-Type": "application/json", **headers}
        request = urllib.request.Request(self.harness.url + path, data, sent, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer), str(answer.headers.get("X-Subject-Token", ""))

    def login(self) -> tuple[dict[str, Any], str]:
        domain = {"id": "default"}
        user = {"name": "admin", "password": ADMIN_PASSWORD, "domain": domain}
        scope = {"project": {"name": "admin", "domain": domain}}
        identity = {"methods": ["password"], "password": {"user": user}}
        return self.request(
            "POST", "/auth/tokens", {"auth": {"identity": identity, "scope": scope}}
        )

    def is_valid(self, token: str) -> bool:
        headers = {"X-Auth-Token": self.login()[1], "X-Subject-Token": token}
        try:
            self.request("GET", "/auth/tokens", **headers)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return False
            raise
        return True

    def _write(self, name: str) -> None:
        """As the kubelet does: all files at once."""
        directory = self.harness.directory / name
        for path in directory.iterdir():
            path.unlink()
        for number, key in self.rings[name].values.items():
            (directory / number).write_text(key)


@pytest.fixture
def server() -> Iterator[Server]:
    with KeystoneHarness() as harness:
        yield Server(harness)


def test_a_stored_credential_survives_rotations_with_a_migration_before_each(
    server: Server,
) -> None:
    path, secret, headers = _store_a_credential(server)
    for _ in range(4):
        server.harness.manage("credential_migrate", *_nobody())
        server.rotate("credential-keys")
        assert server.request("GET", path, **headers)[0]["credential"]["secret"] == secret


def test_without_a_migration_a_stored_credential_is_lost(server: Server) -> None:
    """What the migration is for; and a migration that comes too late fails, which we report."""
    path, _, headers = _store_a_credential(server)
    for _ in range(2):
        server.rotate("credential-keys")
    with pytest.raises((urllib.error.HTTPError, http.client.RemoteDisconnected)):
        server.request("GET", path, **headers)
    with pytest.raises(errors.LabError, match="credential_migrate"):
        server.harness.manage("credential_migrate", *_nobody())


def test_a_token_survives_rotations_while_it_can_live(server: Server) -> None:
    token = server.login()[1]
    for _ in range(3):
        server.rotate("fernet-keys", needed=12 * MONTH)
    assert server.is_valid(token)
    for _ in range(2):
        server.rotate("fernet-keys")
    assert not server.is_valid(token)


def _store_a_credential(server: Server) -> tuple[str, str, dict[str, str]]:
    login, token = server.login()
    user, project = login["token"]["user"]["id"], login["token"]["project"]["id"]
    headers = {"X-Auth-Token": token}
    path = f"/users/{user}/credentials/OS-EC2"
    found = server.request("POST", path, {"tenant_id": project}, **headers)[0]["credential"]
    return f"{path}/{found['access']}", found["secret"], headers


def _key() -> str:
    return Fernet.generate_key().decode()


def _nobody() -> list[str]:
    """Root must name who owns new files; none are written."""
    return ["--keystone-user=0", "--keystone-group=0"]
