"""The HTTPS server of admission and conversion webhooks.

The certificate is checked in every handshake: a new one is used from the next connection on, and
open connections stay. A new pair that is invalid leaves the old one in use.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from aiohttp import web

from cobaltcore.runtime import errors, files, log
from cobaltcore.runtime.admission import Handler, Webhooks
from cobaltcore.runtime.pair import Pair

# An update carries the object twice, and the API server takes objects of up to 3 MiB.
BODY_LIMIT_BYTES = 8 * 1024 * 1024
DRAIN_SECONDS = 25.0
# Peers have this long to read the last response and to close TLS.
CLOSE_SECONDS = 0.2

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
        """The listening port, also if 0 was configured."""
        if self._runner is None or not self._runner.addresses:
            return self._endpoint.port
        return int(self._runner.addresses[0][1])

    async def start(self) -> None:
        """Listen; raise ConfigError if the certificate or the port cannot be used."""
        endpoint = self._endpoint
        context = ServingCertificate(endpoint.certificate, endpoint.key).listener()
        app = web.Application(client_max_size=BODY_LIMIT_BYTES)
        app.router.add_get("/healthz", _healthz)
        for path, handler in self._routes.items():
            app.router.add_post(path, _http_handler(handler))
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
                hint="stop the process that uses the port, or choose another port",
            ) from error
        self._runner = runner

    async def stop(self) -> None:
        """Accept no more connections, complete open requests, then close."""
        if self._runner is None:
            return
        server = self._runner.server
        transports = [each.transport for each in server.connections] if server else []
        await self._runner.cleanup()
        if transports:
            await asyncio.sleep(CLOSE_SECONDS)
        for transport in transports:
            if transport is not None:
                transport.abort()
        self._runner = None


class ServingCertificate:
    """A pair of files whose newest valid content every new handshake presents."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._paths = (certificate, key)
        self._stamp = files.stamp(*self._paths)
        try:
            self._current = self._load()
        except (OSError, ssl.SSLError) as error:
            raise errors.ConfigError(
                f"the webhook certificate {certificate} with key {key} cannot be used: {error}",
                hint="check that both files exist and that the key belongs to the certificate",
            ) from error

    def listener(self) -> ssl.SSLContext:
        """TLS settings for a listening socket; they follow changes of the files."""
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
            _log.error("new certificate is invalid, the old one stays", error=str(error))
        else:
            _log.info("certificate reloaded", file=str(self._paths[0]))

    def _load(self) -> ssl.SSLContext:
        certificate, key = (path.read_bytes() for path in self._paths)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        Pair(certificate, key).load_into(context)
        return context


async def _healthz(_: web.Request) -> web.Response:
    return web.Response(text="ok")


def _http_handler(handler: Handler) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        body = await request.read()
        try:
            return web.Response(body=await handler(body), content_type="application/json")
        except msgspec.MsgspecError as error:
            raise web.HTTPBadRequest(text=f"not a valid review: {error}") from error

    return handle
