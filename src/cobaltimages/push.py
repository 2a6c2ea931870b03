"""Pushes images with their signatures and SBOMs to a registry (OCI distribution API).

What the registry has already is not sent; layers that images share are sent once. Credentials are
those of Docker's configuration file: basic ones, or exchanged for a token where the registry asks.
"""

import base64
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import IO

from cobaltimages import errors, oci, store

SECONDS = 600
_LOG_IN = "docker login {host}, or set DOCKER_CONFIG to the folder of a config.json"
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


@dataclass(slots=True)
class Answer:
    """A response without its body."""

    status: int
    headers: Message
    body: bytes


@dataclass(slots=True)
class Registry:
    """One registry, and what is known to be in it."""

    host: str
    plain_http: bool = False
    credentials: str = field(default="", repr=False)
    """User and password as of basic authentication, in base64."""
    _authorization: str = field(default="", repr=False)
    _known: dict[str, str] = field(default_factory=dict)
    """The repository in which a blob is, by digest."""

    def push(self, image_store: store.Store, repository: str, tag: str, digest: str) -> bool:
        """Push one image; False if the registry has it under that tag already."""
        manifest = image_store.manifest(digest)
        parts = [manifest.config.digest, *(layer.digest for layer in manifest.layers)]
        path = f"/v2/{repository}/manifests/{tag}"
        present = self._send("HEAD", path, headers={"Accept": oci.MANIFEST}, ok=(200, 404))
        if present.headers.get("Docker-Content-Digest") == digest:
            self._known.update(dict.fromkeys(parts, repository))
            return False
        for part in parts:
            self._blob(image_store.blob(part), repository, part)
        body = image_store.blob(digest).read_bytes()
        done = self._send("PUT", path, body=body, headers={"Content-Type": oci.MANIFEST})
        if done.headers.get("Docker-Content-Digest") != digest:
            raise errors.HostError(f"{self.host} stored {repository}:{tag} under another digest")
        return True

    def _blob(self, path: Path, repository: str, digest: str) -> None:
        there = self._send("HEAD", f"/v2/{repository}/blobs/{digest}", ok=(200, 404))
        if there.status != 200:
            self._upload(path, repository, digest)
        self._known[digest] = repository

    def _upload(self, path: Path, repository: str, digest: str) -> None:
        query = {"mount": digest, "from": self._known[digest]} if digest in self._known else {}
        start = f"/v2/{repository}/blobs/uploads/?{urllib.parse.urlencode(query)}"
        begun = self._send("POST", start, body=b"", ok=(201, 202))
        if begun.status == 201:  # mounted from the other repository
            return
        place = urllib.parse.urljoin(self._url(start), begun.headers["Location"])
        sign = "&" if "?" in place else "?"
        target = f"{place}{sign}{urllib.parse.urlencode({'digest': digest})}"
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Length": str(path.stat().st_size),
        }
        with path.open("rb") as content:
            self._send("PUT", target, body=content, headers=headers, ok=(201,))

    def _url(self, path: str) -> str:
        return f"{'http' if self.plain_http else 'https'}://{self.host}{path}"

    def _send(
        self,
        method: str,
        path: str,
        *,
        body: bytes | IO[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        ok: tuple[int, ...] = (200, 201),
    ) -> Answer:
        url = path if "://" in path else self._url(path)
        answer = self._once(method, url, body, headers or {})
        if answer.status == 401 and self._authorize(answer.headers.get("WWW-Authenticate", "")):
            if body is not None and not isinstance(body, bytes):
                body.seek(0)
            answer = self._once(method, url, body, headers or {})
        if answer.status in ok:
            return answer
        text = answer.body.decode(errors="replace").strip()[:300]
        hint = ""
        if answer.status in (401, 403):
            hint = _LOG_IN.format(host=self.host)
        raise errors.HostError(f"{method} {url}: HTTP {answer.status} {text}", hint=hint)

    def _once(
        self, method: str, url: str, body: bytes | IO[bytes] | None, headers: Mapping[str, str]
    ) -> Answer:
        request = urllib.request.Request(url, data=body, method=method, headers=dict(headers))  # noqa: S310 the user's registry
        host = urllib.parse.urlsplit(url).netloc
        if self._authorization and host == self.host:
            request.add_unredirected_header("Authorization", self._authorization)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as found:  # noqa: S310 as above
                return Answer(found.status, found.headers, found.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.headers, error.read())
        except OSError as error:
            raise errors.HostError(
                f"{self.host} cannot be reached: {error}",
                hint="check the name of the registry; --plain-http for one without TLS",
            ) from error

    def _authorize(self, challenge: str) -> bool:
        """Follow a challenge; False if there is nothing to answer with."""
        scheme, _, rest = challenge.partition(" ")
        if scheme.lower() == "basic" and self.credentials:
            before, self._authorization = self._authorization, f"Basic {self.credentials}"
            return before != self._authorization
        found = dict(_CHALLENGE.findall(rest))
        if scheme.lower() != "bearer" or "realm" not in found:
            return False
        realm = found.pop("realm")
        request = urllib.request.Request(f"{realm}?{urllib.parse.urlencode(found)}")  # noqa: S310 named by the registry
        if self.credentials:
            request.add_unredirected_header("Authorization", f"Basic {self.credentials}")
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 as above
                token = json.loads(answer.read())
        except OSError as error:
            raise errors.HostError(
                f"no token from {realm}: {error}", hint=_LOG_IN.format(host=self.host)
            ) from error
        self._authorization = f"Bearer {token.get('token') or token['access_token']}"
        return True


def credentials(host: str, environ: Mapping[str, str]) -> str:
    """What Docker's configuration file has for a registry; empty if it has nothing."""
    folder = environ.get("DOCKER_CONFIG")
    home = Path(folder) if folder else Path(environ.get("HOME", "")) / ".docker"
    try:
        found = json.loads((home / "config.json").read_text())
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise errors.HostError(f"{home}/config.json cannot be read: {error}") from error
    entry = (found.get("auths") or {}).get(host) or {}
    if "username" in entry and "password" in entry:
        return base64.b64encode(f"{entry['username']}:{entry['password']}".encode()).decode()
    return str(entry.get("auth") or "")
