"""Images that are unpacked once for all nodes, with a real containerd on both sides."""

import io
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from cobaltimages import oci, store
from cobaltlab import containerd, imagecache, process

NAME = "registry.example/shelf"


def a_layer(kept: store.Store, files: dict[str, str]) -> oci.Descriptor:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    blob = kept.add(content.getvalue())
    return oci.Descriptor(media_type=oci.LAYER, digest=blob.digest, size=blob.size)


def an_image(kept: store.Store, *layers: dict[str, str]) -> str:
    created = [a_layer(kept, files) for files in layers]
    digests = [layer.digest for layer in created]
    config = kept.add(oci.configuration(digests, settings={}, created="1970-01-01T00:00:00Z"))
    described = oci.Descriptor(media_type=oci.CONFIG, digest=config.digest, size=config.size)
    return kept.add(oci.encode(oci.Manifest(config=described, layers=created))).digest


@pytest.fixture
def kept(tmp_path: Path) -> store.Store:
    image_store = store.Store(tmp_path / "store")
    image_store.prepare()
    return image_store


@pytest.fixture
def shared(kept: store.Store) -> imagecache.ImageCache:
    return imagecache.ImageCache(kept.directory / "unpacked")


def update(shared: imagecache.ImageCache, kept: store.Store, *digests: str) -> list[str]:
    """Unpack images, the last of them with the tag `latest`; return the progress reports."""
    wanted = {f"{NAME}@{digest}": list[str]() for digest in digests}
    wanted[f"{NAME}@{digests[-1]}"] = [f"{NAME}:latest"]
    reports: list[str] = []
    shared.update(kept.directory, wanted, report=reports.append)
    return reports


@contextmanager
def runtime(root: Path, scratch: Path) -> Iterator[Path]:
    """The containerd of a node; yields its socket."""
    program = shutil.which("containerd") or ""
    socket = scratch / "node.sock"
    (scratch / "node.toml").write_text("version = 2\n")
    flags = {"config": scratch / "node.toml", "root": root, "address": socket}
    flags["state"] = scratch / "state"
    child = process.Child(
        "containerd", [program, *(f"--{k}={v}" for k, v in flags.items())], scratch / "node.log"
    )
    child.start()
    try:
        child.wait_until(socket.exists, within=timedelta(seconds=30))
        yield socket
    finally:
        child.stop()


def content_on_node(root: Path, name: str, scratch: Path) -> dict[str, str]:
    """Names and contents of an image's files, as seen by a container on a node."""
    mounted = scratch / "mounted"
    mounted.mkdir()
    with runtime(root, scratch) as socket:
        log = scratch / "node.log"
        containerd.ctr(socket, "images", "mount", name, str(mounted), log=log)
        try:
            return {path.name: path.read_text() for path in mounted.iterdir()}
        finally:
            subprocess.run(["umount", str(mounted)], check=True)
            mounted.rmdir()


def test_a_new_node_starts_with_unpacked_images(
    kept: store.Store, shared: imagecache.ImageCache, tmp_path: Path
) -> None:
    root = tmp_path / "node" / "containerd"
    update(shared, kept, an_image(kept, {"lower": "1", "both": "old"}, {"both": "new"}))

    shared.seed(root)

    snapshots = list((root / "io.containerd.snapshotter.v1.overlayfs/snapshots").iterdir())
    assert len(snapshots) == 2
    assert all(each.is_symlink() for each in snapshots)
    assert content_on_node(root, f"{NAME}:latest", tmp_path) == {"lower": "1", "both": "new"}


def test_an_unpacked_image_is_not_unpacked_again(
    kept: store.Store, shared: imagecache.ImageCache
) -> None:
    first = an_image(kept, {"one": "1"})
    update(shared, kept, first)
    second = an_image(kept, {"one": "1"}, {"two": "2"})

    assert update(shared, kept, first) == []
    assert update(shared, kept, first, second) == ["unpacking images, 0 left"]


def test_an_interrupted_update_is_resumed(
    kept: store.Store, shared: imagecache.ImageCache
) -> None:
    digest = an_image(kept, {"one": "1"})
    update(shared, kept, digest)
    (shared.directory / "known.json").unlink()

    assert update(shared, kept, digest) == []
    assert (shared.directory / "known.json").exists()


def test_a_node_keeps_its_images_when_a_tag_moves(
    kept: store.Store, shared: imagecache.ImageCache, tmp_path: Path
) -> None:
    old, new = an_image(kept, {"file": "old"}), an_image(kept, {"file": "new"})
    older, newer = tmp_path / "older" / "containerd", tmp_path / "newer" / "containerd"
    update(shared, kept, old)
    shared.seed(older)
    update(shared, kept, new)
    shared.seed(newer)

    assert content_on_node(older, f"{NAME}:latest", tmp_path) == {"file": "old"}
    assert content_on_node(newer, f"{NAME}:latest", tmp_path) == {"file": "new"}


def test_unused_images_are_removed(
    kept: store.Store, shared: imagecache.ImageCache, tmp_path: Path
) -> None:
    def files() -> set[str]:
        return {path.read_text() for path in shared.directory.glob("root/*/snapshots/*/fs/file")}

    root = tmp_path / "node" / "containerd"
    update(shared, kept, an_image(kept, {"file": "first"}))
    shared.seed(root)
    update(shared, kept, an_image(kept, {"file": "second"}))
    assert files() == {"first", "second"}

    shutil.rmtree(root)
    update(shared, kept, an_image(kept, {"file": "third"}))
    assert files() == {"third"}


def test_an_existing_node_is_unchanged(
    kept: store.Store, shared: imagecache.ImageCache, tmp_path: Path
) -> None:
    root = tmp_path / "node" / "containerd"
    root.mkdir(parents=True)
    update(shared, kept, an_image(kept, {"one": "1"}))

    shared.seed(root)

    assert not list(root.iterdir())


def test_a_subset_of_images_changes_nothing(
    kept: store.Store, shared: imagecache.ImageCache
) -> None:
    first, second = an_image(kept, {"one": "1"}), an_image(kept, {"two": "2"})
    update(shared, kept, first, second)
    known = (shared.directory / "known.json").read_bytes()

    assert update(shared, kept, second) == []
    assert (shared.directory / "known.json").read_bytes() == known
