from datetime import UTC, datetime, timedelta

import pytest

from cobaltcore.runtime import certificates, webhook_identity
from cobaltcore.runtime.meta import Key
from cobaltcore.runtime.pair import Pair
from cobaltcore.runtime.webhook_identity import Identity

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOSTS = ["webhooks.system.svc"]


@pytest.fixture
def known() -> Identity:
    return webhook_identity.current(None, HOSTS, now=NOW)


def test_an_identity_survives_in_its_secret(known: Identity) -> None:
    kept = webhook_identity.secret(known, Key("ns", "name"))
    assert webhook_identity.from_secret(kept) == known
    assert webhook_identity.from_secret({"data": {}}) is None


def test_a_good_identity_is_kept(known: Identity) -> None:
    assert webhook_identity.current(known, HOSTS, now=NOW + timedelta(days=30)) is known


def test_an_old_certificate_is_renewed_by_the_same_authority(known: Identity) -> None:
    renewed = webhook_identity.current(known, HOSTS, now=NOW + timedelta(days=61))
    assert renewed.bundle == known.bundle
    assert renewed.serving != known.serving
    assert certificates.issued_by(renewed.serving.certificate, known.authority.certificate)


def test_another_host_needs_another_certificate(known: Identity) -> None:
    renewed = webhook_identity.current(known, ["other.svc"], now=NOW)
    assert renewed.serving != known.serving


def test_an_old_ca_stays_trusted_next_to_its_successor(known: Identity) -> None:
    renewed = webhook_identity.current(known, HOSTS, now=NOW + timedelta(days=2500))
    trusted = certificates.split(renewed.bundle)
    assert trusted[1] == known.authority.certificate
    assert certificates.issued_by(renewed.serving.certificate, trusted[0])
    assert not certificates.issued_by(renewed.serving.certificate, trusted[1])


@pytest.mark.parametrize("broken", [b"", b"no certificate"])
def test_an_unreadable_identity_is_replaced(known: Identity, broken: bytes) -> None:
    damaged = Identity(broken, known.authority_key, Pair(broken, broken))
    assert certificates.key_matches(webhook_identity.current(damaged, HOSTS, now=NOW).serving)
