import ssl
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption

from cobaltcore.runtime import certificates

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def a_context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


def a_pair() -> certificates.Pair:
    return certificates.serving(certificates.authority("ca", now=NOW), ["a.svc"], now=NOW)


def test_a_used_pair_leaves_no_key_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    a_pair().load_into(a_context())

    assert list(tmp_path.iterdir()) == []


def test_a_used_pair_removes_its_files_where_the_kernel_has_no_memory_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delattr("os.memfd_create")

    a_pair().load_into(a_context())

    assert list(tmp_path.iterdir()) == []


def test_a_pair_refuses_a_key_of_another_certificate() -> None:
    mixed = certificates.Pair(a_pair().certificate, a_pair().key)

    with pytest.raises(ssl.SSLError):
        mixed.load_into(a_context())


def test_a_pair_refuses_an_encrypted_key_without_asking() -> None:
    pair = a_pair()
    key = serialization.load_pem_private_key(pair.key, password=None)
    encrypted = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        BestAvailableEncryption(b"secret"),
    )

    with pytest.raises(ssl.SSLError):
        certificates.Pair(pair.certificate, encrypted).load_into(a_context())
