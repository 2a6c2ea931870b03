"""The HTTPS server that the API server asks about our kinds.

The certificate is looked at in every handshake, so a new one counts from the next connection on
and connections that are open live on. A new pair that cannot be used leaves the old one in place.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from aiohttp import web

from cobaltcore.runtime import errors, files, log
from cobaltcore.runtime.admission import Answer, Webhooks
from cobaltcore.runtime.pair import Pair

# An update carries the object twice, and the API server takes objects of up to 3 MiB.
BODY_LIMIT_BYTES = 8 * 1024 * 1024
DRAIN_SECONDS = 25.0
# Peers have this long to read the last answer and to close TLS in turn.
FAREWELL_SECONDS = 0.2

_log = log.get("webhook")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to listen, and with which certificate."""

    certificate: Path
    key: Path
    host: str = "0.0.0.0"  # noqa: S104 the API server comes from outside the pod
    port: int = 9443


class WebhookServer:
    """Serves the functions of a Webhooks table, and /healthz."""

    def __init__(
        self, webhooks: Webhooks, endpoint: Endpoint, *, drain_seconds: float = DRAIN_SECONDS
    ) -> None:
        self._routes = webhooks.routes()
        self._endpoint = endpoint
        self._drain_seconds = drain_seconds
        self._runner: web.AppRunner | None = None

    @property
    def port(self) -> int:
        """The port that is listened on, also when 0 was asked for."""
        if self._runner is None or not self._runner.addresses:
            return self._endpoint.port
        return int(self._runner.addresses[0][1])

    async def start(self) -> None:
        """Begin to listen; raise ConfigError if the certificate or the port cannot be used."""
        endpoint = self._endpoint
        context = ServingCertificate(endpoint.certificate, endpoint.key).listener()
        app = web.Application(client_max_size=BODY_LIMIT_BYTES)
        app.router.add_get("/healthz", _healthz)
        for path, answer in self._routes.items():
            app.router.add_post(path, _handler(answer))
        runner = web.AppRunner(
            app,
            access_log=None,
            handle_signals=False,
            handler_cancellation=True,
            shutdown_timeout=self._drain_seconds,
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, endpoint.host, endpoint.port, ssl_context=context).start()
        except OSError as error:
            await runner.cleanup()
            raise errors.ConfigError(
                f"the webhook server cannot listen on {endpoint.host} port {endpoint.port}: "
                f"{error.strerror}",
                hint="stop what uses the port, or choose another one",
            ) from error
        self._runner = runner

    async def stop(self) -> None:
        """Take no more connections, answer what was asked, then close."""
        if self._runner is None:
            return
        server = self._runner.server
        transports = [each.transport for each in server.connections] if server else []
        await self._runner.cleanup()
        if transports:
            await asyncio.sleep(FAREWELL_SECONDS)
        for transport in transports:
            if transport is not None:
                transport.abort()
        self._runner = None


class ServingCertificate:
    """A pair of files whose newest usable content every new handshake presents."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._paths = (certificate, key)
        self._stamp = files.stamp(*self._paths)
        try:
            self._current = self._load()
        except (OSError, ssl.SSLError) as error:
            raise errors.ConfigError(
                f"the webhook certificate {certificate} with key {key} cannot be used: {error}",
                hint="check that both files are there and belong together",
            ) from error

    def listener(self) -> ssl.SSLContext:
        """TLS settings for a listening socket, good for its whole life."""
        context = self._load()
        context.sni_callback = self._choose
        return context

    def _choose(self, handshake: ssl.SSLObject, _name: str | None, _: ssl.SSLContext) -> None:
        stamp = files.stamp(*self._paths)
        if stamp != self._stamp:
            self._stamp = stamp
            self._refresh()
        handshake.context = self._current

    def _refresh(self) -> None:
        try:
            self._current = self._load()
        except (OSError, ssl.SSLError) as error:
            _log.error("new certificate cannot be used, keeping the old", cause=str(error))
        else:
            _log.info("certificate reloaded", file=str(self._paths[0]))

    def _load(self) -> ssl.SSLContext:
        certificate, key = (path.read_bytes() for path in self._paths)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        Pair(certificate, key).use(context)
        return context


async def _healthz(_: web.Request) -> web.Response:
    return web.Response(text="ok")


def _handler(answer: Answer) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        body = await request.read()
        try:
            return web.Response(body=await answer(body), content_type="application/json")
        except msgspec.MsgspecError as error:
            raise web.HTTPBadRequest(text=f"no review that can be read: {error}") from error

    return handle
