"""A webhook server that manages its own certificate and its registration at the API server.

All replicas share a Secret with the certificate. The first replica that finds it due renews it, the
others reload it. A new CA is registered before any server presents a certificate issued by it.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from cobaltcore.runtime import certificates, errors, log, webhook_identity, webhook_objects
from cobaltcore.runtime.admission import Webhooks
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.meta import Key, Kind, Object
from cobaltcore.runtime.webhook import Endpoint, WebhookServer
from cobaltcore.runtime.webhook_identity import SECRET, Identity
from cobaltcore.runtime.webhook_objects import Options, Service, Target

MANAGER = "cobalt-webhooks"
CLUSTER_ROLE = Kind(
    "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False
)
CHECK_INTERVAL = timedelta(minutes=10)
RETRY_INTERVAL = timedelta(seconds=10)

_log = log.get("webhook")


@dataclass(frozen=True, slots=True)
class Registration:
    """Name of the webhook configurations, and how the API server reaches the server."""

    name: str
    at: Service | str
    """A Service in front of the server, or its URL without path."""
    hosts: Sequence[str]
    """DNS names and addresses of the certificate."""
    secret: Key
    namespace: str = ""
    """The namespace whose objects are reviewed; empty: all."""
    owner: str = ""
    """The ClusterRole that allows to register. Where it exists it owns the registration: removed
    together, no write of an object waits for a webhook server that is gone."""


class WebhookService:
    """Serves webhooks, renews their certificate and keeps their registration up to date."""

    def __init__(
        self,
        client: Client,
        webhooks: Webhooks,
        registration: Registration,
        *,
        port: int = 9443,
        clock: Clock | None = None,
    ) -> None:
        self._client = client
        self._webhooks = webhooks
        self._registration = registration
        self._port = port
        self._clock = clock or SystemClock()
        self._files = tempfile.TemporaryDirectory(prefix="cobalt-webhooks-")
        self._server: WebhookServer | None = None
        self._renewing: asyncio.Future[None] | None = None
        self._presented: Identity | None = None

    @property
    def port(self) -> int:
        return self._server.port if self._server else self._port

    async def start(self) -> None:
        """Obtain a certificate, register, listen."""
        identity = await self._identity()
        await self._register(identity)
        self._present(identity)
        folder = Path(self._files.name)
        endpoint = Endpoint(folder / "tls.crt", folder / "tls.key", port=self._port)
        self._server = WebhookServer(self._webhooks, endpoint)
        await self._server.start()
        self._renewing = asyncio.ensure_future(self._renew_forever())

    async def stop(self) -> None:
        """Stop listening; the registration stays for the next process."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait({self._renewing})
        if self._server is not None:
            await self._server.stop()
        self._files.cleanup()

    async def renew(self) -> None:
        """Renew what is due, or reload what another replica has renewed."""
        identity = await self._identity()
        # Always, because the registration may have been changed or deleted.
        await self._register(identity)
        if identity != self._presented:
            self._present(identity)

    async def _renew_forever(self) -> None:
        interval = CHECK_INTERVAL
        while True:
            await self._clock.sleep(interval.total_seconds())
            try:
                await self.renew()
                interval = CHECK_INTERVAL
            except (errors.ApiError, errors.Unreachable, TimeoutError) as error:
                _log.warning("webhook certificate not checked", error=str(error))
                interval = RETRY_INTERVAL

    async def _identity(self) -> Identity:
        """The identity in the Secret, issued or renewed if due; another replica may be first."""
        while True:
            found = await self._read()
            known = webhook_identity.from_secret(found) if found else None
            hosts = self._registration.hosts
            wanted = webhook_identity.current(known, hosts, now=self._clock.now())
            if wanted == known:
                return wanted
            try:
                await self._write(wanted, found)
            except errors.Conflict:
                continue
            _log.info("certificate issued", secret=str(self._registration.secret))
            return wanted

    async def _read(self) -> Object | None:
        try:
            return await self._client.get(SECRET, self._registration.secret)
        except errors.NotFound:
            return None

    async def _write(self, identity: Identity, found: Object | None) -> None:
        body = webhook_identity.secret(identity, self._registration.secret)
        if found is None:
            await self._client.create(SECRET, body)
        else:
            await self._client.replace(SECRET, {**found, "data": body["data"]})

    def _present(self, identity: Identity) -> None:
        folder = Path(self._files.name)
        certificates.write(
            identity.serving, certificate=folder / "tls.crt", key=folder / "tls.key"
        )
        self._presented = identity

    async def _register(self, identity: Identity) -> None:
        target = Target(self._registration.at, identity.bundle)
        options = Options(namespace=self._registration.namespace, owners=await self._owners())
        name = self._registration.name
        defaulting = self._webhooks.defaulting_functions
        validating = self._webhooks.validating_functions
        await self._configure(
            webhook_objects.MUTATING,
            webhook_objects.mutating(name, defaulting, target, options=options),
        )
        await self._configure(
            webhook_objects.VALIDATING,
            webhook_objects.validating(
                name, validating, target, optional=self._webhooks.optional, options=options
            ),
        )

    async def _owners(self) -> list[Object]:
        name = self._registration.owner
        try:
            found = await self._client.get(CLUSTER_ROLE, Key("", name)) if name else None
        except (
            errors.NotFound,
            errors.Forbidden,
        ):  # installed otherwise, or by an earlier release
            found = None
        if found is None:
            return []
        kind = {"apiVersion": CLUSTER_ROLE.api_version, "kind": CLUSTER_ROLE.kind}
        return [{**kind, "name": name, "uid": found["metadata"]["uid"]}]

    async def _configure(self, kind: Kind, configuration: Object) -> None:
        if configuration["webhooks"]:
            await self._client.apply(kind, configuration, manager=MANAGER)
        else:
            # An earlier release may have registered some.
            await self._client.delete(kind, Key("", configuration["metadata"]["name"]))
