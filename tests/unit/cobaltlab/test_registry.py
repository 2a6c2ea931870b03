import hashlib
import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cobaltlab import registry

MANIFEST = b'{"schemaVersion":2}'
LAYER = b"x" * 3_000_000
NAME = "ghcr.io/c5c3/keystone:28.0.0"


def add(layout: Path, content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    (layout / "blobs/sha256").mkdir(parents=True, exist_ok=True)
    (layout / "blobs/sha256" / digest).write_bytes(content)
    return f"sha256:{digest}"


def name(layout: Path, reference: str, digest: str) -> None:
    entry = {"digest": digest, "annotations": {"io.containerd.image.name": reference}}
    (layout / "index.json").write_text(json.dumps({"manifests": [entry]}))


class Client:
    def __init__(self, port: int) -> None:
        self._port = port

    def ask(self, path: str, method: str = "GET") -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        connection.request(method, path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body, dict(answer.getheaders())


@pytest.fixture
def client(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Client]:
    server = registry.server(("127.0.0.1", 0), registry.Layout(tmp_path))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Client(server.server_address[1])
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_image_is_served_under_its_upstream_name(tmp_path: Path, client: Client) -> None:
    digest = add(tmp_path, MANIFEST)
    name(tmp_path, NAME, digest)
    status, body, headers = client.ask("/v2/c5c3/keystone/manifests/28.0.0?ns=ghcr.io")
    assert (status, body) == (200, MANIFEST)
    assert headers["Docker-Content-Digest"] == digest
    assert headers["Content-Type"] == "application/vnd.oci.image.manifest.v1+json"


def test_blobs_and_manifests_are_found_by_digest(tmp_path: Path, client: Client) -> None:
    layer, manifest = add(tmp_path, LAYER), add(tmp_path, MANIFEST)
    assert client.ask(f"/v2/any/thing/blobs/{layer}?ns=ghcr.io")[:2] == (200, LAYER)
    assert client.ask(f"/v2/any/thing/manifests/{manifest}")[:2] == (200, MANIFEST)


def test_head_returns_the_size_without_the_content(tmp_path: Path, client: Client) -> None:
    status, body, headers = client.ask(f"/v2/a/blobs/{add(tmp_path, LAYER)}", "HEAD")
    assert (status, body, headers["Content-Length"]) == (200, b"", str(len(LAYER)))


def test_images_added_later_are_served(tmp_path: Path, client: Client) -> None:
    path = "/v2/c5c3/keystone/manifests/28.0.0?ns=ghcr.io"
    assert client.ask(path)[0] == 404
    name(tmp_path, NAME, add(tmp_path, MANIFEST))
    assert client.ask(path)[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v2/c5c3/keystone/manifests/28.0.0?ns=docker.io",
        "/v2/c5c3/keystone/manifests/1?ns=ghcr.io",
        f"/v2/a/blobs/sha256:{'0' * 64}",
        "/v2/a/blobs/sha256:../../index.json",
        "/v2/a/blobs/..%2f..%2findex.json",
    ],
)
def test_unknown_images_are_not_found(tmp_path: Path, client: Client, path: str) -> None:
    name(tmp_path, NAME, add(tmp_path, MANIFEST))
    assert client.ask(path)[0] == 404


def test_the_api_version_is_announced(client: Client) -> None:
    assert client.ask("/v2/")[0] == 200
