"""A webhook server that looks after itself: certificate in a Secret, renewed; API server told.

All replicas share the Secret. Whoever finds that something is due renews it, the others take over
what they find. The API server hears of a new authority before any server shows a certificate of it.
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
from cobaltcore.runtime.webhook_objects import Service, Target

MANAGER = "cobalt-webhooks"
LOOK_EVERY = timedelta(minutes=10)
LOOK_AGAIN = timedelta(seconds=10)

_log = log.get("webhook")


@dataclass(frozen=True, slots=True)
class Registration:
    """Under which name the API server knows the webhooks, and how it reaches them."""

    name: str
    at: Service | str
    """A Service in front of the server, or its URL without path."""
    hosts: Sequence[str]
    """Names that the certificate must have."""
    secret: Key


class WebhookService:
    """Serves webhooks and keeps their certificate and their registration in order."""

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
        self._keeper: asyncio.Future[None] | None = None
        self._shown: Identity | None = None

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return self._server.port if self._server else self._port

    async def start(self) -> None:
        """Have a certificate, tell the API server, listen."""
        identity = await self._identity()
        await self._register(identity)
        self._show(identity)
        folder = Path(self._files.name)
        endpoint = Endpoint(folder / "tls.crt", folder / "tls.key", port=self._port)
        self._server = WebhookServer(self._webhooks, endpoint)
        await self._server.start()
        self._keeper = asyncio.ensure_future(self._keep())

    async def stop(self) -> None:
        """Stop to listen; the registration stays for the next one."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        if self._server is not None:
            await self._server.stop()
        self._files.cleanup()

    async def renew(self) -> None:
        """Renew what is due, here or by another replica, and use it."""
        identity = await self._identity()
        # Always, because somebody may have changed or removed the registration.
        await self._register(identity)
        if identity != self._shown:
            self._show(identity)

    async def _keep(self) -> None:
        pause = LOOK_EVERY
        while True:
            await self._clock.sleep(pause.total_seconds())
            try:
                await self.renew()
                pause = LOOK_EVERY
            except (errors.ApiError, errors.Unreachable, TimeoutError) as error:
                _log.warning("webhooks not looked after", error=str(error))
                pause = LOOK_AGAIN

    async def _identity(self) -> Identity:
        """What the Secret holds, made or renewed if that is due; others may be first."""
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
            _log.info("certificate made", secret=str(self._registration.secret))
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

    def _show(self, identity: Identity) -> None:
        folder = Path(self._files.name)
        certificates.write(
            identity.serving, certificate=folder / "tls.crt", key=folder / "tls.key"
        )
        self._shown = identity

    async def _register(self, identity: Identity) -> None:
        target = Target(self._registration.at, identity.bundle)
        name = self._registration.name
        defaulting = self._webhooks.defaulting_functions
        validating = self._webhooks.validating_functions
        await self._tell(
            webhook_objects.MUTATING, webhook_objects.mutating(name, defaulting, target)
        )
        await self._tell(
            webhook_objects.VALIDATING, webhook_objects.validating(name, validating, target)
        )

    async def _tell(self, kind: Kind, configuration: Object) -> None:
        if configuration["webhooks"]:
            await self._client.apply(kind, configuration, manager=MANAGER)
        else:
            # An earlier release may have had some.
            await self._client.delete(kind, Key("", configuration["metadata"]["name"]))
