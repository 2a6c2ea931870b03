"""The provider dies at each of its API calls in turn; the next one finishes the work."""

import base64
from dataclasses import dataclass

import pytest
from cryptography import x509

from cobaltcore.api.foreign.certmanager import CERTIFICATE, ISSUER
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET
from cobaltcore.runtime import certificates
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object
from cobaltlab.providers.certmanager import PROVIDER
from tests.integration.providers import certmanager_objects as objects
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import CrashPoint, When
from tests.support.operating import read
from tests.support.providers import condition, converges_despite_crash, install


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """An authority and a certificate of it, from their making to their end."""

    client: Client
    namespace: str

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    async def create(self) -> None:
        await self.client.create(ISSUER, objects.a_self_signer(self.namespace))
        await self.client.create(CERTIFICATE, objects.an_authority(self.namespace))
        await self.client.create(ISSUER, objects.an_issuer(self.namespace))
        await self.client.create(CERTIFICATE, objects.a_certificate(self.namespace))

    async def is_created(self) -> bool:
        return await self._names() == ["localhost", f"web.{self.namespace}.svc"] and (
            await self._is_reported("True")
        )

    async def change(self) -> None:
        patch = {"spec": {"dnsNames": ["changed.svc"]}}
        await self.client.patch(CERTIFICATE, self.key("web"), patch)

    async def is_changed(self) -> bool:
        return await self._names() == ["changed.svc"] and await self._is_reported("True")

    async def end(self) -> None:
        for name in ("web", "root"):
            await self.client.delete(CERTIFICATE, self.key(name))
        for name in ("root", "self"):
            await self.client.delete(ISSUER, self.key(name))

    async def is_ended(self) -> bool:
        """Nothing holds the objects, and what was issued stays."""
        deleted = [
            await read(self.client, CERTIFICATE, self.key(each)) for each in ("web", "root")
        ]
        return deleted == [None, None] and await self._names() == ["changed.svc"]

    async def _names(self) -> list[str]:
        found = await read(self.client, SECRET, self.key("web-tls"))
        authority = await read(self.client, SECRET, self.key("root-ca"))
        if not found or not authority:
            return []
        pair = certificates.Pair(_pem(found, "tls.crt"), _pem(found, "tls.key"))
        if not certificates.issued_by(pair.certificate, _pem(authority, "tls.crt")):
            return []
        assert certificates.key_matches(pair)
        leaf = x509.load_pem_x509_certificate(pair.certificate)
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return sorted(names.get_values_for_type(x509.DNSName))

    async def _is_reported(self, status: str) -> bool:
        key = self.key("web")
        bundle = await read(self.client, CONFIG_MAP, self.key("cobalt-ca-bundle"))
        found = await self.client.get(CERTIFICATE, key)
        report = (found.get("status") or {}).get("conditions") or [{}]
        return (
            bundle is not None
            and await condition(self.client, CERTIFICATE, key) == (status, "Ready")
            and await condition(self.client, ISSUER, self.key("root"))
            == ("True", "KeyPairVerified")
            and report[0].get("observedGeneration") == found["metadata"]["generation"]
        )


def _pem(secret: Object, name: str) -> bytes:
    return base64.b64decode(secret["data"][name])


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_every_api_call_converges(
    control_plane: ControlPlaneHarness, client: Client, when: When
) -> None:
    await install(client, PROVIDER)
    call, crashes = 0, True
    while crashes:
        call += 1
        lifecycle = Lifecycle(client, control_plane.create_namespace("crash"))
        steps = [
            (lifecycle.create, lifecycle.is_created),
            (lifecycle.change, lifecycle.is_changed),
            (lifecycle.end, lifecycle.is_ended),
        ]
        crashes = await converges_despite_crash(
            control_plane, steps, PROVIDER, CrashPoint(call, when)
        )
    assert call > 15, "a whole lifecycle takes more calls than that"
