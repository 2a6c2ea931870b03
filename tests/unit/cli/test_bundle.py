"""A support bundle has no secret in it, however it is spelled."""

import base64
import io
import json
import tarfile
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from cobaltcore.api.foreign.kubernetes import POD, SECRET
from cobaltcore.cli import bundle
from cobaltcore.cli.bundle_reading import Gathered
from cobaltcore.cli.commands import gather
from cobaltcore.runtime.meta import Object

VALUE = 'p/+= "quoted" sesame'
ENCODED = base64.b64encode(VALUE.encode()).decode()
KEY = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIExample\n-----END EC PRIVATE KEY-----\n"
# Shaped like tokens, and made of one letter.
JWT = f"eyJ{'a' * 20}.{'b' * 20}.{'c' * 20}"
FERNET = f"gAAAAA{'x' * 80}"


def a_secret(**data: str) -> Object:
    encoded = {k: base64.b64encode(v.encode()).decode() for k, v in data.items()}
    meta = {
        "name": "login", "namespace": "cloud",
        "annotations": {bundle.LAST_APPLIED: json.dumps({"data": encoded})},
        "managedFields": [{"manager": "x"}],
    }  # fmt: skip
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": encoded}


SECRETS = [a_secret(password=VALUE, username="keystone-user")]


@pytest.mark.parametrize(
    "text",
    [
        f"login failed for {VALUE}",
        f"data: {ENCODED}",
        f"mysql://user:{quote(VALUE, safe='')}@db/keystone",
        json.dumps({"message": VALUE}),
        yaml.safe_dump({"message": VALUE}),
        KEY,
        "\n".join(f"    {line}" for line in KEY.splitlines()),
        f"X-Auth-Token: {FERNET}",
        f"Authorization: Bearer {JWT}",
        "connection password = hunter2-hunter2",
        '{"password": "hunter2-hunter2"}',
    ],
)
def test_a_secret_is_hidden_in_every_spelling(text: str) -> None:
    assert bundle.leaks({"before": text}, SECRETS) != []
    hidden = bundle.hider(SECRETS)(text)
    assert bundle.leaks({"after": hidden}, SECRETS) == []
    assert "***" in hidden


@pytest.mark.parametrize(
    "text",
    [
        "passwordSecretRef: {name: keystone-admin, key: password}",
        "user keystone-user logged in",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "image: registry.example/keystone@sha256:0123456789abcdef",
    ],
)
def test_what_is_public_stays(text: str) -> None:
    assert bundle.hider(SECRETS)(text) == text
    assert bundle.leaks({"file": text}, SECRETS) == []


def test_of_a_secret_there_are_its_keys_only() -> None:
    shown = yaml.safe_load(bundle.manifest(SECRET, SECRETS[0]))
    assert shown["data"] == {"password": "***", "username": "***"}
    assert "annotations" not in shown["metadata"]
    assert "managedFields" not in shown["metadata"]


def test_literal_credentials_in_the_environment_of_containers_are_hidden() -> None:
    variables = [{"name": "DB_PASSWORD", "value": "abc"}, {"name": "HOME", "value": "/root"}]
    pod: dict[str, Any] = {
        "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "env": variables}]},
    }  # fmt: skip
    shown = yaml.safe_load(bundle.manifest(POD, pod))
    assert [each["value"] for each in shown["spec"]["containers"][0]["env"]] == ["***", "/root"]


def test_a_file_with_something_secret_left_in_it_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bundle, "hider", lambda secrets: str)
    found = Gathered(files={"a.log": f"is {VALUE}", "b.log": "is fine"}, secrets=SECRETS)
    files, left_out = gather.safe(found)
    assert sorted(files) == ["b.log", "missing.txt"]
    assert [(each.file, each.what) for each in left_out] == [("a.log", "the value of a Secret")]


def test_the_archive_has_one_directory_with_private_files() -> None:
    content = bundle.archive({"a/b.txt": "text"}, root="cobalt-1", time=0)
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        (entry,) = tar.getmembers()
        assert (entry.name, entry.mode) == ("cobalt-1/a/b.txt", 0o600)
