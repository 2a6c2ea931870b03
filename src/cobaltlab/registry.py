"""A pull-only container registry for the nodes of one lab.

Serves the OCI layout that `cobalt images` fills, on the host's address in the nodes' network, as a
mirror of all registries: images keep their upstream names. Standard library only.
`python -m cobaltlab.registry DIRECTORY`.
"""

import http.server
import json
import re
import sys
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cobaltlab import record, subnets

PORT = 5000

_NAME = "io.containerd.image.name"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_PATH = re.compile(r"/v2/(?P<repository>.+)/(?P<kind>manifests|blobs)/(?P<reference>[^/]+)")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class Layout:
    """An OCI layout; images may be added while it is served."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def digest(self, name: str) -> str | None:
        return self._names().get(name)

    def blob(self, digest: str) -> Path | None:
        if not _DIGEST.fullmatch(digest):
            return None
        path = self._directory / "blobs/sha256" / digest.removeprefix("sha256:")
        return path if path.is_file() else None

    def _names(self) -> Mapping[str, str]:
        try:
            index: dict[str, Any] = json.loads((self._directory / "index.json").read_text())
        except FileNotFoundError:
            return {}
        entries = index["manifests"]
        return {each.get("annotations", {}).get(_NAME, ""): each["digest"] for each in entries}


class Handler(http.server.BaseHTTPRequestHandler):
    """The part of the OCI distribution API that pulls use."""

    protocol_version = "HTTP/1.1"
    layout: Layout

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Do not log successful requests."""

    def _answer(self, *, with_body: bool) -> None:
        where = urlsplit(self.path)
        found = _PATH.fullmatch(where.path)
        if where.path == "/v2/":
            self._head(HTTPStatus.OK, 0, {})
        elif found and (digest := self._digest(found, parse_qs(where.query))):
            self._send(digest, found["kind"], with_body=with_body)
        else:
            self._head(HTTPStatus.NOT_FOUND, 0, {})

    def _digest(self, asked: re.Match[str], query: Mapping[str, list[str]]) -> str | None:
        reference = asked["reference"]
        if _DIGEST.fullmatch(reference):
            return reference
        registry = query.get("ns", [""])[0]
        return self.layout.digest(f"{registry}/{asked['repository']}:{reference}")

    def _send(self, digest: str, kind: str, *, with_body: bool) -> None:
        path = self.layout.blob(digest)
        if path is None:
            self._head(HTTPStatus.NOT_FOUND, 0, {})
            return
        media_type = _MANIFEST if kind == "manifests" else "application/octet-stream"
        with path.open("rb") as content:
            size = path.stat().st_size
            headers = {"Content-Type": media_type, "Docker-Content-Digest": digest}
            self._head(HTTPStatus.OK, size, headers)
            if with_body:
                self.wfile.flush()
                self.connection.sendfile(content)

    def _head(self, status: HTTPStatus, size: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(size))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


def server(address: tuple[str, int], layout: Layout) -> http.server.ThreadingHTTPServer:
    handler = type("LayoutHandler", (Handler,), {"layout": layout})
    return http.server.ThreadingHTTPServer(address, handler)


def main(directory: Path) -> None:
    instance = record.read(directory)
    host = str(subnets.Subnets(instance.index).host)
    server((host, PORT), Layout(Path(instance.images))).serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
