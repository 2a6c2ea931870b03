"""Images for the nodes of one instance: a registry to pull from, and nothing else.

Serves the OCI layout that `cobalt images` fills, on the host's address in the nodes' network, under
the names that the images have elsewhere; nodes ask here first and have nowhere else to ask. So an
image is where it is needed, as soon as it is needed. Standard library only.
`python -m cobaltcore.lab.registry DIRECTORY`.
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

from cobaltcore.lab import ranges, record

PORT = 5000

_NAME = "io.containerd.image.name"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_PATH = re.compile(r"/v2/(?P<repository>.+)/(?P<kind>manifests|blobs)/(?P<reference>[^/]+)")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class Layout:
    """An OCI layout that may grow while it is served."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def digest(self, name: str) -> str | None:
        """The digest of a named image."""
        return self._names().get(name)

    def blob(self, digest: str) -> Path | None:
        """The file of a blob."""
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
    """Answers the part of the distribution protocol that pulls use."""

    protocol_version = "HTTP/1.1"
    layout: Layout

    def do_GET(self) -> None:
        """Send what is asked for."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Tell about what is asked for."""
        self._answer(with_body=False)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing of what went well."""

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
    """A server of a layout."""
    handler = type("LayoutHandler", (Handler,), {"layout": layout})
    return http.server.ThreadingHTTPServer(address, handler)


def main(directory: Path) -> None:
    """Serve the nodes of the instance in a directory."""
    instance = record.read(directory)
    host = str(ranges.Ranges(instance.index).host)
    server((host, PORT), Layout(Path(instance.images))).serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
