import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from cobaltcore.api.foreign.certmanager import CertificateSpec
from cobaltcore.runtime import certificates, keys
from cobaltlab.providers import certmanager_policy as policy
from cobaltlab.providers.certmanager_policy import Input, Signer

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
    current = spec()
    key = keys.generate(policy.key_spec(current))
    pair = certificates.issue(
        CA, policy.subject(current), now=NOW, lifetime=policy.lifetime(current), key=key
    )
    annotations = {
        policy.CERTIFICATE_NAME: "web",
        policy.ISSUER_NAME: "ca",
        policy.REQUEST: policy.fingerprint(current),
        policy.REVISION: "1",
    }
    data = {"tls.crt": pair.certificate, "tls.key": pair.key}
    secret = {
        "metadata": {"annotations": annotations},
        "data": {name: base64.b64encode(value).decode() for name, value in data.items()},
    }
    return Input("web", current, secret, signer(), NOW)


def with_data(name: str, value: bytes) -> Break:
    def change(inputs: Input) -> Input:
        secret = inputs.secret or {}
        data = {**secret["data"], name: base64.b64encode(value).decode()}
        return replace(inputs, secret={**secret, "data": data})

    return change


def with_spec(**changes: Any) -> Break:
    return lambda inputs: replace(inputs, spec=spec(**changes))


CASES: dict[str, tuple[str, Break]] = {
    "no Secret": ("DoesNotExist", lambda inputs: replace(inputs, secret=None)),
    "another Certificate's Secret": (
        "IncorrectCertificate",
        lambda inputs: replace(inputs, name="other"),
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
        lambda inputs: replace(inputs, signer=signer(OTHER_CA)),
    ),
    "another name": ("RequestChanged", with_spec(dnsNames=["other.svc"])),
    "another lifetime": ("RequestChanged", with_spec(duration="91h")),
    "the time to renew": (
        "Renewing",
        lambda inputs: replace(inputs, now=NOW + timedelta(hours=60, seconds=1)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_violation_issues_a_new_certificate(name: str) -> None:
    reason, change = CASES[name]

    found = policy.violation(change(an_input()))

    assert found is not None
    assert found.reason == reason


def test_valid_certificate_is_kept_until_its_renewal() -> None:
    inputs = an_input()

    assert policy.violation(inputs) is None
    assert policy.violation(replace(inputs, now=NOW + timedelta(hours=59))) is None
    assert policy.defect(replace(inputs, now=NOW + timedelta(hours=89))) is None
    late = policy.defect(replace(inputs, now=NOW + timedelta(hours=91)))
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
def test_field_that_is_not_in_the_certificate_issues_nothing(changes: dict[str, Any]) -> None:
    assert policy.violation(with_spec(**changes)(an_input())) is None


def test_renewal_defaults_to_a_third_of_the_lifetime() -> None:
    certificate = an_input().pair.certificate
    start, end = certificates.validity(certificate)
    third = end - (end - start) / 3
    for renew_before in (None, "1000h", "0s"):
        assert policy.renewal_time(spec(renewBefore=renew_before), certificate) == third


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"usages": ["world domination"]}, "'world domination' is unknown"),
        ({"duration": "90d"}, "is not a duration"),
        ({"duration": "59m"}, "duration is less than 1:00:00"),
        ({"renewBefore": "90h"}, "not less than spec.duration"),
        ({"renewBefore": "1m"}, "renewBefore is less than 0:05:00"),
        ({"privateKey": {"algorithm": "RSA", "size": 512}}, "at least 2048 bits"),
        ({"dnsNames": []}, "at least one of"),
        ({"commonName": "x" * 65}, "the limit is 64"),
        ({"keystores": {}}, "spec.keystores is not supported"),
        ({"secretName": 1}, "secretName"),
    ],
)
def test_unsupported_spec_is_refused(changes: dict[str, Any], part: str) -> None:
    found = policy.invalid({**RAW, **changes})

    assert found is not None
    assert part in found.message
    assert not found.issuable
    assert policy.invalid(RAW) is None
