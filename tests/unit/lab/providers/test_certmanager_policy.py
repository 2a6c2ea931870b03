import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from cobaltcore.api.foreign.certmanager import CertificateSpec
from cobaltcore.lab.providers import certmanager_policy as policy
from cobaltcore.lab.providers.certmanager_policy import Input, Signer
from cobaltcore.runtime import certificates, keys

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CA = certificates.authority("ca", now=NOW)
OTHER_CA = certificates.authority("ca", now=NOW)
RAW: dict[str, Any] = {
    "secretName": "web-tls",
    "dnsNames": ["web.svc"],
    "duration": "90h",
    "renewBefore": "30h",
    "privateKey": {"algorithm": "ECDSA", "size": 256},
    "issuerRef": {"name": "ca"},
}
Break = Callable[[Input], Input]


def spec(**changes: Any) -> CertificateSpec:
    return msgspec.convert({**RAW, **changes}, CertificateSpec)


def signer(ca: certificates.Pair = CA) -> Signer:
    return Signer(ca.certificate, ca.key, ca.certificate)


def an_input() -> Input:
    """A certificate that is as it should be."""
    wanted = spec()
    key = keys.generate(policy.key_shape(wanted))
    pair = certificates.issue(
        CA, policy.subject(wanted), now=NOW, lifetime=policy.lifetime(wanted), key=key
    )
    annotations = {
        policy.CERTIFICATE_NAME: "web",
        policy.ISSUER_NAME: "ca",
        policy.REQUEST: policy.fingerprint(wanted),
        policy.REVISION: "1",
    }
    data = {"tls.crt": pair.certificate, "tls.key": pair.key}
    secret = {
        "metadata": {"annotations": annotations},
        "data": {name: base64.b64encode(value).decode() for name, value in data.items()},
    }
    return Input("web", wanted, secret, signer(), NOW)


def with_data(name: str, value: bytes) -> Break:
    def change(given: Input) -> Input:
        secret = given.secret or {}
        data = {**secret["data"], name: base64.b64encode(value).decode()}
        return replace(given, secret={**secret, "data": data})

    return change


def with_spec(**changes: Any) -> Break:
    return lambda given: replace(given, spec=spec(**changes))


CASES: dict[str, tuple[str, Break]] = {
    "no Secret": ("DoesNotExist", lambda given: replace(given, secret=None)),
    "another Certificate's Secret": (
        "IncorrectCertificate",
        lambda given: replace(given, name="other"),
    ),
    "no certificate in it": ("MissingData", with_data("tls.crt", b"")),
    "no key in it": ("MissingData", with_data("tls.key", b"")),
    "an unreadable certificate": ("InvalidCertificate", with_data("tls.crt", b"x")),
    "an unreadable key": ("InvalidKeyPair", with_data("tls.key", b"x")),
    "the key of another": ("InvalidKeyPair", with_data("tls.key", CA.key)),
    "another kind of key": (
        "SecretMismatch",
        with_spec(privateKey={"algorithm": "ECDSA", "size": 384}),
    ),
    "another issuer": ("IncorrectIssuer", with_spec(issuerRef={"name": "other"})),
    "an issuer of another kind": (
        "IncorrectIssuer",
        with_spec(issuerRef={"name": "ca", "kind": "ClusterIssuer"}),
    ),
    "an issuer with a new key pair": (
        "IncorrectIssuer",
        lambda given: replace(given, signer=signer(OTHER_CA)),
    ),
    "another name": ("RequestChanged", with_spec(dnsNames=["other.svc"])),
    "another lifetime": ("RequestChanged", with_spec(duration="91h")),
    "the time to renew": (
        "Renewing",
        lambda given: replace(given, now=NOW + timedelta(hours=60, seconds=1)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_certificate_is_issued_again_for(name: str) -> None:
    reason, change = CASES[name]

    found = policy.violation(change(an_input()))

    assert found is not None
    assert found.reason == reason


def test_good_certificate_is_left_alone_until_its_renewal() -> None:
    given = an_input()

    assert policy.violation(given) is None
    assert policy.violation(replace(given, now=NOW + timedelta(hours=59))) is None
    assert policy.defect(replace(given, now=NOW + timedelta(hours=89))) is None
    late = policy.defect(replace(given, now=NOW + timedelta(hours=91)))
    assert late is not None
    assert late.reason == "Expired"


@pytest.mark.parametrize(
    "changes",
    [
        {"secretTemplate": {"labels": {"a": "b"}}},
        {"renewBefore": "31h"},
        {"revisionHistoryLimit": 3},
        {"privateKey": {"algorithm": "ECDSA", "rotationPolicy": "Never"}},
    ],
    ids=str,
)
def test_change_that_is_not_in_the_certificate_issues_nothing(changes: dict[str, Any]) -> None:
    assert policy.violation(with_spec(**changes)(an_input())) is None


def test_renewal_is_a_third_of_life_before_the_end_without_a_usable_renew_before() -> None:
    certificate = an_input().pair.certificate
    start, end = certificates.validity(certificate)
    third = end - (end - start) / 3
    for renew_before in (None, "1000h", "0s"):
        assert policy.renewal_time(spec(renewBefore=renew_before), certificate) == third


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"usages": ["world domination"]}, "'world domination' is not known"),
        ({"duration": "90d"}, "is not a duration"),
        ({"duration": "59m"}, "duration is less than 1:00:00"),
        ({"renewBefore": "90h"}, "not less than duration"),
        ({"renewBefore": "1m"}, "renewBefore is less than 0:05:00"),
        ({"privateKey": {"algorithm": "RSA", "size": 512}}, "at least 2048 bits"),
        ({"dnsNames": []}, "at least one of"),
        ({"commonName": "x" * 65}, "more than 64"),
        ({"keystores": {}}, "spec.keystores is not served"),
        ({"secretName": 1}, "secretName"),
    ],
)
def test_spec_that_can_never_be_served_is_refused(changes: dict[str, Any], part: str) -> None:
    found = policy.refusal({**RAW, **changes})

    assert found is not None
    assert part in found.message
    assert not found.issuable
    assert policy.refusal(RAW) is None
