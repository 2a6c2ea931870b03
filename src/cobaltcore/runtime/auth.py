"""Credentials for an API server: from files and from exec plugins.

Both return the same Identity object until it has changed, expired, or been rejected, so the
transport retries a request after a 401 only if it gets another one.
"""

import asyncio
import shutil
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec

from cobaltcore.runtime import errors, files, log
from cobaltcore.runtime.clock import Clock
from cobaltcore.runtime.meta import Struct
from cobaltcore.runtime.pair import Pair
from cobaltcore.runtime.transport import Headers, Identity

EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXEC_TIMEOUT_SECONDS = 60

_log = log.get("auth")


@dataclass(frozen=True, slots=True)
class Trust:
    """Which server certificates are trusted; the system's CA bundle without an `authority`."""

    authority: str | None = None
    verify: bool = True

    def context(self, pair: Pair | None = None) -> ssl.SSLContext:
        """TLS settings of a client that presents `pair`; SSLError or ValueError if unusable."""
        if self.authority == "":
            raise ValueError("the CA bundle is empty")
        context = ssl.create_default_context(cadata=self.authority)
        # Newer Pythons reject CAs without some optional extensions; kubectl accepts them.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if pair is not None:
            pair.load_into(context)
        return context


def bearer(token: str) -> Headers:
    return (("Authorization", f"Bearer {token}"),)


class FileCredentials:
    """The identity that `read` returns, read again when one of the `watched` files changes."""

    def __init__(self, read: Callable[[], Identity], *, watched: tuple[Path, ...] = ()) -> None:
        self._read = read
        self._watched = watched
        self._stamp = files.stamp(*watched)
        self._identity = read()

    async def identity(self) -> Identity:
        stamp = files.stamp(*self._watched)
        if stamp != self._stamp:
            self._stamp = stamp
            self._refresh()
        return self._identity

    def rejected(self, identity: Identity) -> None:
        """Nothing to do: every request checks the files anyway."""

    def _refresh(self) -> None:
        try:
            self._identity = self._read()
        except errors.ConfigError as error:
            _log.warning("credentials not reloaded, the old ones stay", error=error.message)


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A program that prints an ExecCredential; errors name `owner` as where it is configured."""

    owner: str
    version: str
    command: str
    args: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    install_hint: str = ""
    cluster: Mapping[str, Any] | None = None


class _ExecStatus(Struct):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class _ExecCredential(Struct):
    api_version: str
    kind: str
    status: _ExecStatus


class ExecCredentials:
    """The identity that a plugin printed, until it expires or the server rejects it."""

    def __init__(
        self, plugin: ExecPlugin, *, trust: Trust, clock: Clock, headers: Headers = ()
    ) -> None:
        self._plugin = plugin
        self._trust = trust
        self._clock = clock
        self._headers = headers
        self._identity: Identity | None = None
        self._expires: datetime | None = None
        self._one_run = asyncio.Lock()

    async def identity(self) -> Identity:
        """The current identity; runs the plugin if there is no valid one."""
        async with self._one_run:
            if self._identity is None or self._expired():
                self._identity = self._accept(await self._run())
            return self._identity

    def rejected(self, identity: Identity) -> None:
        """Forget the rejected identity, unless there is a newer one already."""
        if identity is self._identity:
            self._identity = None

    def _expired(self) -> bool:
        return self._expires is not None and self._clock.now() >= self._expires

    def _accept(self, output: bytes) -> Identity:
        status = self._decode(output)
        pair = None
        if status.client_certificate_data or status.client_key_data:
            pair = Pair(status.client_certificate_data.encode(), status.client_key_data.encode())
        elif not status.token:
            raise self._fault("printed neither a token nor a client certificate")
        try:
            context = self._trust.context(pair) if pair else None
        except ssl.SSLError as error:
            raise self._fault("printed a client certificate and key that do not match") from error
        self._expires = status.expiration_timestamp
        headers = self._headers + (bearer(status.token) if status.token else ())
        return Identity(headers, context)

    def _decode(self, output: bytes) -> _ExecStatus:
        try:
            credential = msgspec.json.decode(output, type=_ExecCredential)
        except msgspec.MsgspecError as error:
            raise self._fault(f"printed no ExecCredential: {error}") from error
        if (credential.kind, credential.api_version) != ("ExecCredential", self._plugin.version):
            raise self._fault(
                f"printed {credential.kind} of {credential.api_version}, "
                f"expected ExecCredential of {self._plugin.version}"
            )
        return credential.status

    async def _run(self) -> bytes:
        plugin = self._plugin
        program = shutil.which(plugin.command, path=plugin.environ.get("PATH", ""))
        if program is None:
            raise self._fault("is not installed")
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *plugin.args,
                env={**plugin.environ, "KUBERNETES_EXEC_INFO": _exec_info(plugin)},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise self._fault(f"cannot be started: {error.strerror}") from error
        try:
            async with asyncio.timeout(EXEC_TIMEOUT_SECONDS):
                output, _ = await process.communicate()
        except TimeoutError as error:
            raise self._fault(f"did not finish within {EXEC_TIMEOUT_SECONDS} seconds") from error
        finally:
            await _reap(process)
        if process.returncode:
            raise self._fault(f"failed with exit code {process.returncode}")
        return output

    def _fault(self, what: str) -> errors.ConfigError:
        plugin = self._plugin
        return errors.ConfigError(
            f"{plugin.owner}: the exec plugin {plugin.command} {what}",
            hint=plugin.install_hint or f"run {plugin.command} by hand to see its output",
        )


def _exec_info(plugin: ExecPlugin) -> str:
    spec: dict[str, Any] = {"interactive": False}
    if plugin.cluster is not None:
        spec["cluster"] = plugin.cluster
    info = {"apiVersion": plugin.version, "kind": "ExecCredential", "spec": spec}
    return msgspec.json.encode(info).decode()


async def _reap(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()
