"""Certificates are issued, and again when something that they depend on changes."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from cobaltcore.api.foreign.certmanager import CERTIFICATE, CLUSTER_ISSUER, ISSUER
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, NAMESPACE, SECRET
from cobaltcore.runtime import certificates, errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object
from cobaltlab.providers.certmanager import PROVIDER
from cobaltlab.providers.certmanager_policy import REVISION
from tests.integration.providers import certmanager_objects as objects
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually, read
from tests.support.providers import (
    RunningProviders,
    condition,
    install,
    message,
    running_providers,
    validate,
)
from tests.support.rights import as_provider

AGENT = "lab-certmanager"


@pytest.fixture
async def running(
    control_plane: ControlPlaneHarness, client: Client
) -> AsyncIterator[RunningProviders]:
    await install(client, PROVIDER)
    async with running_providers(as_provider(control_plane, AGENT), PROVIDER) as running:
        yield running


async def secret(client: Client, namespace: str, name: str = "web-tls") -> Object | None:
    return await read(client, SECRET, Key(namespace, name))


def pem(found: Object, name: str) -> bytes:
    return base64.b64decode(found["data"][name])


async def is_ready(client: Client, namespace: str, name: str = "web") -> bool:
    key = Key(namespace, name)
    found = await client.get(CERTIFICATE, key)
    report = (found.get("status") or {}).get("conditions") or [{}]
    return (
        await condition(client, CERTIFICATE, key) == ("True", "Ready")
        and report[0].get("observedGeneration") == found["metadata"]["generation"]
    )


async def ready(client: Client, namespace: str, name: str = "web") -> Object:
    async def check() -> bool:
        return await is_ready(client, namespace, name)

    await eventually(check, f"Certificate {name} is ready")
    found = await client.get(CERTIFICATE, Key(namespace, name))
    validate(CERTIFICATE, found)
    return found


async def issued_again(client: Client, namespace: str, before: Object) -> Object:
    """The Secret once it holds another certificate."""

    async def check() -> bool:
        found = await secret(client, namespace)
        return (
            found is not None
            and found["metadata"]["annotations"][REVISION]
            > before["metadata"]["annotations"][REVISION]
            and await is_ready(client, namespace)
        )

    await eventually(check, "the certificate is issued again")
    return await client.get(SECRET, Key(namespace, "web-tls"))


async def a_chain(client: Client, namespace: str, **spec: Any) -> Object:
    """An authority and a certificate of it; returns the Secret."""
    await client.create(ISSUER, objects.a_self_signer(namespace))
    await client.create(CERTIFICATE, objects.an_authority(namespace))
    await client.create(ISSUER, objects.an_issuer(namespace))
    await client.create(CERTIFICATE, objects.a_certificate(namespace, **spec))
    await ready(client, namespace)
    return await client.get(SECRET, Key(namespace, "web-tls"))


async def test_a_certificate_of_a_ca(
    running: RunningProviders, client: Client, namespace: str
) -> None:
    template = {"labels": {"team": "web"}, "annotations": {"note": "hello"}}
    found = await a_chain(client, namespace, secretTemplate=template)

    authority = await client.get(SECRET, Key(namespace, "root-ca"))
    assert found["type"] == "kubernetes.io/tls"
    assert sorted(found["data"]) == ["ca.crt", "tls.crt", "tls.key"]
    assert found["metadata"]["labels"]["team"] == "web"
    assert found["metadata"]["annotations"]["note"] == "hello"
    assert found["metadata"]["annotations"]["cert-manager.io/issuer-name"] == "root"
    assert certificates.issued_by(pem(found, "tls.crt"), pem(authority, "tls.crt"))
    assert pem(found, "ca.crt") == pem(authority, "tls.crt")
    assert certificates.key_matches(
        certificates.Pair(pem(found, "tls.crt"), pem(found, "tls.key"))
    )
    status = (await client.get(CERTIFICATE, Key(namespace, "web")))["status"]
    assert status["revision"] == 1
    assert status["notBefore"] < status["renewalTime"] < status["notAfter"]
    assert await condition(client, ISSUER, Key(namespace, "root")) == ("True", "KeyPairVerified")
    assert await condition(client, ISSUER, Key(namespace, "self")) == ("True", "IsReady")


async def test_usages_subject_and_rsa_key(
    running: RunningProviders, client: Client, namespace: str
) -> None:
    found = await a_chain(
        client,
        namespace,
        commonName="web",
        subject={"organizations": ["c5c3"], "organizationalUnits": ["lab"]},
        usages=["key encipherment", "server auth", "client auth"],
        privateKey={"algorithm": "RSA", "size": 2048, "encoding": "PKCS1"},
        uris=["spiffe://lab/web"],
    )

    leaf = x509.load_pem_x509_certificate(pem(found, "tls.crt"))
    assert leaf.subject.rfc4514_string() == "CN=web,OU=lab,O=c5c3"
    extended = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert [each._name for each in extended] == ["serverAuth", "clientAuth"]
    usage = leaf.extensions.get_extension_for_class(x509.KeyUsage).value
    assert usage.key_encipherment
    assert not usage.digital_signature
    key = serialization.load_pem_private_key(pem(found, "tls.key"), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    assert pem(found, "tls.key").startswith(b"-----BEGIN RSA PRIVATE KEY-----")


async def test_a_changed_spec_reissues_the_certificate(
    running: RunningProviders, client: Client, namespace: str
) -> None:
    before = await a_chain(client, namespace)
    patch = {"spec": {"dnsNames": ["other.svc"]}}
    await client.patch(CERTIFICATE, Key(namespace, "web"), patch)

    found = await issued_again(client, namespace, before)

    leaf = x509.load_pem_x509_certificate(pem(found, "tls.crt"))
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["other.svc"]
    assert pem(found, "tls.key") != pem(before, "tls.key")
    assert (await client.get(CERTIFICATE, Key(namespace, "web")))["status"]["revision"] == 2


async def test_rotation_policy_never_keeps_the_key(
    running: RunningProviders, client: Client, namespace: str
) -> None:
    kept = {**objects.ECDSA, "rotationPolicy": "Never"}
    before = await a_chain(client, namespace, privateKey=kept)
    await client.patch(CERTIFICATE, Key(namespace, "web"), {"spec": {"commonName": "other"}})

    found = await issued_again(client, namespace, before)

    assert pem(found, "tls.key") == pem(before, "tls.key")


async def test_another_key_algorithm_is_refused_with_rotation_policy_never(
    running: RunningProviders, client: Client, namespace: str
) -> None:
    kept = {**objects.ECDSA, "rotationPolicy": "Never"}
    before = await a_chain(client, namespace, privateKey=kept)
    key = Key(namespace, "web")
    await client.patch(CERTIFICATE, key, {"spec": {"privateKey": {"size": 384}}})

    async def refused() -> bool:
        return await condition(client, CERTIFICATE, key) == ("False", "SecretMismatch")

    await eventually(refused, "the status reports that the key does not fit")
    assert "rotationPolicy to Always" in await message(client, CERTIFICATE, key)
    await client.patch(CERTIFICATE, key, {"spec": {"privateKey": {"rotationPolicy": "Always"}}})
    found = await issued_again(client, namespace, before)
    created = serialization.load_pem_private_key(pem(found, "tls.key"), None)
    assert isinstance(created, ec.EllipticCurvePrivateKey)
    assert created.key_size == 384


async def test_a_deleted_secret_is_recreated(
    running: RunningProviders, client: Client, namespace: str
) -> None:
    before = await a_chain(client, namespace)
    await client.delete(SECRET, Key(namespace, "web-tls"))

    found = await issued_again(client, namespace, before)

    assert found["metadata"]["uid"] != before["metadata"]["uid"]


@pytest.mark.parametrize("name", ["tls.crt", "tls.key"])
async def test_a_changed_secret_is_restored(
    running: RunningProviders, client: Client, namespace: str, name: str
) -> None:
    before = await a_chain(client, namespace)
    garbage = base64.b64encode(b"garbage").decode()
    await client.patch(SECRET, Key(namespace, "web-tls"), {"data": {name: garbage}})

    found = await issued_again(client, namespace, before)

    assert certificates.key_matches(
        certificates.Pair(pem(found, "tls.crt"), pem(found, "tls.key"))
    )


async def published(client: Client, namespace: str, *authorities: bytes) -> None:
    """Wait until the bundle of a namespace names these authorities."""

    async def check() -> bool:
        bundle = await read(client, CONFIG_MAP, Key(namespace, "cobalt-ca-bundle"))
        if bundle is None:
            return False
        return set(authorities) <= set(certificates.split(bundle["data"]["ca.crt"].encode()))

    await eventually(check, f"{len(authorities)} authorities are published")


async def test_a_new_ca_reissues_and_the_bundle_has_both(
    running: RunningProviders, client: Client, namespace: str
) -> None:
    before = await a_chain(client, namespace)
    await published(client, namespace, pem(before, "ca.crt"))
    await client.delete(SECRET, Key(namespace, "root-ca"))

    found = await issued_again(client, namespace, before)

    authority = await client.get(SECRET, Key(namespace, "root-ca"))
    assert certificates.issued_by(pem(found, "tls.crt"), pem(authority, "tls.crt"))
    await published(client, namespace, pem(authority, "tls.crt"), pem(before, "ca.crt"))


async def test_an_edited_bundle_is_restored(
    running: RunningProviders, client: Client, namespace: str
) -> None:
    await a_chain(client, namespace)
    key = Key(namespace, "cobalt-ca-bundle")

    async def exists() -> bool:
        return await read(client, CONFIG_MAP, key) is not None

    await eventually(exists, "the bundle exists")
    good = (await client.get(CONFIG_MAP, key))["data"]["ca.crt"]
    intruder = certificates.authority("intruder", now=running.controllers[0]._clock.now())
    await client.patch(CONFIG_MAP, key, {"data": {"ca.crt": intruder.certificate.decode()}})

    async def restored() -> bool:
        return bool((await client.get(CONFIG_MAP, key))["data"]["ca.crt"] == good)

    await eventually(restored, "the bundle is as it was")


async def test_a_certificate_waits_for_its_issuer(
    running: RunningProviders, client: Client, namespace: str
) -> None:
    key = Key(namespace, "web")
    await client.create(CERTIFICATE, objects.a_certificate(namespace))

    async def waits() -> bool:
        return await condition(client, CERTIFICATE, key, "Issuing") == ("True", "DoesNotExist")

    await eventually(waits, "the status reports that it is being issued")
    assert await condition(client, CERTIFICATE, key) == ("False", "DoesNotExist")
    assert "not found: 'root'" in await message(client, CERTIFICATE, key, "Issuing")
    await client.create(ISSUER, objects.an_issuer(namespace))

    async def no_key_pair() -> bool:
        return await condition(client, ISSUER, Key(namespace, "root")) == (
            "False",
            "ErrGetKeyPair",
        )

    await eventually(no_key_pair, "the issuer reports what it lacks")
    await client.create(ISSUER, objects.a_self_signer(namespace))
    await client.create(CERTIFICATE, objects.an_authority(namespace))
    found = await ready(client, namespace)
    assert [each["type"] for each in found["status"]["conditions"]] == ["Ready"]


async def test_a_cluster_issuer_signs_in_every_namespace(
    running: RunningProviders, client: Client, namespace: str
) -> None:
    try:
        await client.create(NAMESPACE, {"metadata": {"name": "cert-manager"}})
    except errors.AlreadyExists:
        assert await read(client, NAMESPACE, Key("", "cert-manager"))
    authority = certificates.authority("lab", now=running.controllers[0]._clock.now())
    name = f"lab-{namespace}"
    data = {"tls.crt": authority.certificate.decode(), "tls.key": authority.key.decode()}
    meta = {"name": name, "namespace": "cert-manager"}
    await client.create(SECRET, {"metadata": meta, "stringData": data})
    await client.create(CLUSTER_ISSUER, objects.a_cluster_issuer(name, name))
    ref = {"name": name, "kind": "ClusterIssuer"}
    await client.create(CERTIFICATE, objects.a_certificate(namespace, issuerRef=ref))

    await ready(client, namespace)

    found = await client.get(SECRET, Key(namespace, "web-tls"))
    assert certificates.issued_by(pem(found, "tls.crt"), authority.certificate)
    bundle = await client.get(CONFIG_MAP, Key(namespace, "cobalt-ca-bundle"))
    assert authority.certificate.decode() in bundle["data"]["ca.crt"]
    await client.delete(CLUSTER_ISSUER, Key("", name))


async def test_a_foreign_secret_is_not_touched(
    running: RunningProviders, client: Client, namespace: str
) -> None:
    meta = {"name": "web-tls", "namespace": namespace}
    await client.create(SECRET, {"metadata": meta, "stringData": {"theirs": "yes"}})
    await client.create(ISSUER, objects.a_self_signer(namespace))
    ref = {"name": "self"}
    await client.create(CERTIFICATE, objects.a_certificate(namespace, issuerRef=ref))

    async def refused() -> bool:
        state = await condition(client, CERTIFICATE, Key(namespace, "web"))
        return state == ("False", "IncorrectCertificate")

    await eventually(refused, "the status reports whose it is")
    found = await secret(client, namespace)
    assert found is not None
    assert list(found["data"]) == ["theirs"]


async def test_an_unsupported_spec_is_reported(
    running: RunningProviders, client: Client, namespace: str
) -> None:
    key = Key(namespace, "web")
    stores = {"jks": {"create": True, "password": "changeit"}}
    await client.create(CERTIFICATE, objects.a_certificate(namespace, keystores=stores))

    async def refused() -> bool:
        return await condition(client, CERTIFICATE, key) == ("False", "InvalidRequest")

    await eventually(refused, "the status reports what is not served")
    assert "spec.keystores" in await message(client, CERTIFICATE, key)


async def test_the_secret_is_kept_when_its_certificate_is_deleted(
    running: RunningProviders, client: Client, namespace: str
) -> None:
    before = await a_chain(client, namespace)
    await client.delete(CERTIFICATE, Key(namespace, "web"))
    await client.create(CERTIFICATE, objects.a_certificate(namespace))

    await ready(client, namespace)

    assert (await secret(client, namespace) or {})["data"] == before["data"]


async def test_a_converged_certificate_makes_no_request(
    control_plane: ControlPlaneHarness, running: RunningProviders, client: Client, namespace: str
) -> None:
    await a_chain(client, namespace)
    await eventually(running.is_idle, "the provider is_idle")
    mark = control_plane.mark()
    for controller in running.controllers:
        controller.queue.add(Key(namespace, "web"))
        controller.queue.add(Key(namespace, "root"))
        controller.queue.add(Key("", namespace))
    await eventually(running.is_idle, "all reconciles are done")
    assert control_plane.audit(since=mark, agent=AGENT) == []
