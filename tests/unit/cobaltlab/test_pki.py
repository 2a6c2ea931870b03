"""Keys of a cluster are created once, kept, and renewed when they are no longer valid."""

import base64
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import NameOID

from cobaltcore.runtime import certificates
from cobaltlab import pki

NOW = datetime(2026, 11, 15, tzinfo=UTC)
SERVER = certificates.Subject("server", hosts=("localhost", "127.0.0.1"))


@pytest.fixture
def keys(tmp_path: Path) -> pki.Pki:
    return pki.Pki(tmp_path / "pki", now=lambda: NOW)


def parsed(found: pki.KeyFiles) -> x509.Certificate:
    return x509.load_pem_x509_certificate(found.certificate.read_bytes())


def test_valid_keys_are_kept(keys: pki.Pki) -> None:
    first = [
        parsed(keys.certificate("server", SERVER)),
        keys.service_account_key().key.read_bytes(),
    ]
    again = [
        parsed(keys.certificate("server", SERVER)),
        keys.service_account_key().key.read_bytes(),
    ]

    assert first == again


def test_certificate_is_reissued_for_another_host(keys: pki.Pki) -> None:
    before = parsed(keys.certificate("server", SERVER))
    moved = certificates.Subject("server", hosts=(*SERVER.hosts, "10.0.0.1"))

    after = parsed(keys.certificate("server", moved))

    assert before != after
    after.verify_directly_issued_by(parsed(keys.authority()))


def test_certificate_is_reissued_near_expiry(keys: pki.Pki) -> None:
    before = parsed(keys.certificate("server", SERVER))
    later = pki.Pki(keys.directory, now=lambda: NOW + pki.LIFETIME - timedelta(days=1))

    assert parsed(later.certificate("server", SERVER)) != before


def test_authorities_are_independent(keys: pki.Pki) -> None:
    proxy = parsed(keys.certificate("proxy", SERVER, authority=pki.FRONT_PROXY))

    with pytest.raises(ValueError, match="subject does not match"):
        proxy.verify_directly_issued_by(parsed(keys.authority()))


def test_client_certificate_names_user_and_groups(keys: pki.Pki) -> None:
    subject = parsed(keys.client("system:node:n0", groups=("system:nodes",))).subject

    assert [each.value for each in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == [
        "system:node:n0"
    ]
    assert [each.value for each in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == [
        "system:nodes"
    ]


def test_kubeconfig_is_self_contained_and_private(keys: pki.Pki) -> None:
    path = keys.kubeconfig("admin", server="https://127.0.0.1:6443")

    content = yaml.safe_load(path.read_text())
    cluster = content["clusters"][0]["cluster"]
    authority = base64.b64decode(cluster["certificate-authority-data"])
    assert cluster["server"] == "https://127.0.0.1:6443"
    assert authority == keys.authority().certificate.read_bytes()
    assert set(content["users"][0]["user"]) == {"client-certificate-data", "client-key-data"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_private_keys_are_readable_by_their_owner_only(keys: pki.Pki) -> None:
    created = [keys.authority(), keys.client("someone"), keys.service_account_key()]

    assert {stat.S_IMODE(each.key.stat().st_mode) for each in created} == {0o600}
