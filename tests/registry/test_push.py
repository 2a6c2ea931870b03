"""`cobalt images push` to the real registry of the distribution project, built on demand."""

import base64
import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from cobaltcore.agents import waiting
from cobaltcore.api import release
from cobaltcore.cli import main
from cobaltimages import oci, signing, store
from cobaltlab import kubebuild
from tests.support.ports import ReservedPort

DOCUMENT = {"bomFormat": "CycloneDX"}


@contextmanager
def running(folder: Path, **settings: Any) -> Iterator[str]:
    """A registry on loopback; yields its address."""
    folder.mkdir()
    reserved = ReservedPort()
    address = f"127.0.0.1:{reserved.number}"
    reserved.release()  # the registry does not share ports
    config = {
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
        "http": {"addr": address},
        **settings,
    }
    (folder / "config.yml").write_text(yaml.safe_dump(config))
    program = kubebuild.ensure(kubebuild.REGISTRY)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [program, "serve", str(folder / "config.yml")], stdout=log, stderr=log
        )
        try:
            waiting.wait_until(lambda: _answers(address), interval=0.1)
            yield address
        finally:
            process.terminate()
            process.wait()


def _answers(address: str) -> bool:
    try:
        urllib.request.urlopen(f"http://{address}/v2/")
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    with running(tmp_path / "registry") as address:
        yield address


@pytest.fixture
def images(tmp_path: Path) -> store.Store:
    """A store with two signed images that share a layer."""
    found = store.Store(tmp_path / "store")
    found.prepare()
    shared = found.add(b"shared layer")
    keys = signing.Keys(tmp_path / "keys")
    for name in ("keystone", "glance"):
        own = found.add(f"layer of {name}".encode())
        config = found.add(oci.configuration([], settings={}, created="1970-01-01T00:00:00Z"))
        layers = [_layer(shared), _layer(own)]
        described = oci.Descriptor(media_type=oci.CONFIG, digest=config.digest, size=config.size)
        digest = found.add(oci.encode(oci.Manifest(config=described, layers=layers))).digest
        attached = signing.attach(
            found, keys, repository=f"ghcr.io/c5c3/{name}", digest=digest, document=DOCUMENT
        )
        record = store.Record(
            name=name,
            release=release.DEFAULT,
            version="1.0.0",
            inputs="",
            parents={},
            archive="",
            digest=digest,
            layers={layer.digest: layer.size for layer in layers},
            attachments=attached,
        )
        found.remember(record)
    return found


def _layer(blob: oci.Descriptor) -> oci.Descriptor:
    return oci.Descriptor(media_type=oci.LAYER, digest=blob.digest, size=blob.size)


def push(images: store.Store, target: str, *names: str) -> int:
    place = ("--plain-http", "--store", str(images.directory))
    return main.main(["images", "push", target, *names, *place])


def fetch(address: str, path: str) -> bytes:
    request = urllib.request.Request(f"http://{address}/v2/{path}")
    request.add_header("Accept", oci.MANIFEST)
    with urllib.request.urlopen(request) as answer:
        content: bytes = answer.read()
    return content


def test_images_are_pushed_with_signature_and_sbom_and_only_once(
    images: store.Store, registry: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert push(images, f"{registry}/cloud") == 0
    assert f"{registry}/cloud/keystone:1.0.0@sha256:" in capsys.readouterr().out
    for name, record in images.records(release.DEFAULT).items():
        assert oci.digest(fetch(registry, f"cloud/{name}/manifests/1.0.0")) == record.digest
        for layer in record.layers:
            assert oci.digest(fetch(registry, f"cloud/{name}/blobs/{layer}")) == layer
        for kind, digest in record.attachments.items():
            tag = signing.tag(record.digest, kind)
            assert oci.digest(fetch(registry, f"cloud/{name}/manifests/{tag}")) == digest

    assert push(images, f"{registry}/cloud") == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("0 of ")


def test_only_named_images_are_pushed(images: store.Store, registry: str) -> None:
    assert push(images, registry, "glance") == 0
    assert json.loads(fetch(registry, "_catalog")) == {"repositories": ["glance"]}


def test_registry_that_is_not_there_is_named(
    images: store.Store, capsys: pytest.CaptureFixture[str]
) -> None:
    reserved = ReservedPort()
    assert push(images, f"127.0.0.1:{reserved.number}") == 1
    reserved.release()
    assert "cannot be reached" in capsys.readouterr().err


@contextmanager
def tokens(check: Callable[[str], bool]) -> Iterator[str]:
    """A server that exchanges credentials for tokens; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            allowed = check(self.headers.get("Authorization", ""))
            self.send_response(200 if allowed else 401)
            self.end_headers()
            if allowed:
                self.wfile.write(b'{"token": "t"}')

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/token"
        finally:
            server.shutdown()


def test_credentials_of_docker_are_exchanged_for_a_token(
    images: store.Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    basic = base64.b64encode(b"someone:something").decode()
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with (
        tokens(lambda header: header == f"Basic {basic}") as realm,
        running(tmp_path / "r", auth={"silly": {"realm": realm, "service": "s"}}) as address,
    ):
        assert push(images, address) == 1
        assert f"docker login {address}" in capsys.readouterr().err
        config = {"auths": {address: {"auth": basic}}}
        (tmp_path / "config.json").write_text(json.dumps(config))
        assert push(images, address) == 0
    assert basic not in "".join(capsys.readouterr())
