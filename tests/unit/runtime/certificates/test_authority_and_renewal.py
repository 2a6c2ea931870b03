from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from cobaltcore.runtime import certificates

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def an_authority(name: str = "cobalt") -> certificates.Pair:
    return certificates.authority(name, now=NOW)


def parsed(pair: certificates.Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate)


def test_serving_certificate_is_p256_and_signed_by_its_authority() -> None:
    authority = an_authority()
    leaf = parsed(certificates.serving(authority, ["webhook.cobalt.svc", "10.0.0.1"], now=NOW))

    leaf.verify_directly_issued_by(parsed(authority))
    key = leaf.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert isinstance(key.curve, ec.SECP256R1)


def test_serving_certificate_names_dns_and_ip_hosts() -> None:
    pair = certificates.serving(an_authority(), ["a.svc", "10.0.0.1", "::1"], now=NOW)

    names = parsed(pair).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["a.svc"]
    found = [str(each) for each in names.get_values_for_type(x509.IPAddress)]
    assert found == ["10.0.0.1", "::1"]


def test_client_certificate_carries_user_and_groups() -> None:
    subject = certificates.Subject("jane", organizations=("dev", "ops"), usages=("client",))

    leaf = parsed(certificates.issue(an_authority(), subject, now=NOW))

    assert leaf.subject.rfc4514_string() == "CN=jane,O=ops,O=dev"


def test_renewal_is_due_after_two_thirds_of_life() -> None:
    life = timedelta(days=90)
    pair = certificates.serving(an_authority(), ["a.svc"], now=NOW, lifetime=life)
    due = certificates.renew_at(pair.certificate)
    assert NOW + life * 0.6 < due < NOW + life * 0.7

    before, after = due - timedelta(seconds=1), due + timedelta(seconds=1)
    assert not certificates.needs_renewal(pair.certificate, now=before)
    assert certificates.needs_renewal(pair.certificate, now=after)


def test_renewal_is_due_when_a_host_is_missing() -> None:
    pair = certificates.serving(an_authority(), ["a.svc", "10.0.0.1"], now=NOW)

    assert not certificates.needs_renewal(pair.certificate, now=NOW, hosts=["10.0.0.1"])
    assert certificates.needs_renewal(pair.certificate, now=NOW, hosts=["b.svc"])


def test_renewal_is_due_when_the_authority_changed_under_the_same_name() -> None:
    old, new = an_authority(), an_authority()
    pair = certificates.serving(old, ["a.svc"], now=NOW)

    assert not certificates.needs_renewal(pair.certificate, now=NOW, issuer=old.certificate)
    assert certificates.needs_renewal(pair.certificate, now=NOW, issuer=new.certificate)


@pytest.mark.parametrize("content", [b"", b"not a certificate"])
def test_renewal_is_due_when_the_certificate_is_unreadable(content: bytes) -> None:
    assert certificates.needs_renewal(content, now=NOW)


def test_bundle_holds_each_certificate_once() -> None:
    one, two = an_authority("one").certificate, an_authority("two").certificate

    assert certificates.bundle(one, two, one + two) == one + two


def test_written_key_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    pair = certificates.serving(an_authority(), ["a.svc"], now=NOW)
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"

    certificates.write(pair, certificate=certificate, key=key)

    assert key.stat().st_mode & 0o777 == 0o600
    assert certificates.Pair(certificate.read_bytes(), key.read_bytes()) == pair
    assert sorted(each.name for each in tmp_path.iterdir()) == ["tls.crt", "tls.key"]


def test_pair_hides_its_key_when_printed() -> None:
    assert "PRIVATE" not in repr(an_authority())
