import errno
import io
import json
import os
import tarfile
from pathlib import Path

import msgspec
import pytest

from cobaltimages import errors, oci, store


def a_store(root: Path) -> store.Store:
    image_store = store.Store(root / "store")
    image_store.prepare()
    return image_store


def an_image(image_store: store.Store, *contents: bytes) -> str:
    """An image of layers that are no tar files, which these tests do not unpack."""
    layers = []
    for content in contents:
        blob = image_store.add(content)
        layers.append(oci.Descriptor(media_type=oci.LAYER, digest=blob.digest, size=blob.size))
    digests = [layer.digest for layer in layers]
    config = image_store.add(
        oci.configuration(digests, settings={}, created="1970-01-01T00:00:00Z")
    )
    described = oci.Descriptor(media_type=oci.CONFIG, digest=config.digest, size=config.size)
    return image_store.add(oci.encode(oci.Manifest(config=described, layers=layers))).digest


def a_record(image_store: store.Store, name: str, digest: str) -> store.Record:
    layers = {layer.digest: layer.size for layer in image_store.manifest(digest).layers}
    return store.Record(
        name=name,
        release="2025.2",
        version="1.0",
        inputs="key",
        parents={},
        archive="",
        digest=digest,
        layers=layers,
    )


def test_a_record_is_found_again(tmp_path: Path) -> None:
    image_store = a_store(tmp_path)
    record = a_record(image_store, "keystone", an_image(image_store, b"layer"))

    image_store.remember(record)

    assert image_store.records("2025.2") == {"keystone": record}


def test_a_record_without_its_image_is_none(tmp_path: Path) -> None:
    image_store = a_store(tmp_path)
    record = a_record(image_store, "keystone", an_image(image_store, b"layer"))
    image_store.remember(record)

    image_store.blob(record.digest).unlink()

    assert image_store.records("2025.2") == {}


def test_a_record_that_was_cut_off_is_none(tmp_path: Path) -> None:
    image_store = a_store(tmp_path)
    record = a_record(image_store, "keystone", an_image(image_store, b"layer"))
    image_store.remember(record)

    (image_store.directory / "records" / "2025.2" / "keystone.json").write_bytes(b'{"name": "key')

    assert image_store.records("2025.2") == {}


def test_an_archive_has_shared_layers_once_and_all_names(tmp_path: Path) -> None:
    image_store = a_store(tmp_path)
    one, two = an_image(image_store, b"base", b"one"), an_image(image_store, b"base", b"two")
    target = io.BytesIO()

    image_store.archive({"r/one:1": one, "r/one:latest": one, "r/two:1": two}, target)

    target.seek(0)
    with tarfile.open(fileobj=target) as tar:
        names = tar.getnames()
        index = tar.extractfile("index.json")
        assert index is not None
        found = msgspec.json.decode(index.read(), type=oci.Index)
    assert len(names) == len(set(names)) == 2 + 3 + 2 + 2
    assert {entry.annotations[oci.CONTAINERD_NAME] for entry in found.manifests} == {
        "r/one:1",
        "r/one:latest",
        "r/two:1",
    }


def test_blobs_that_no_image_needs_are_removed(tmp_path: Path) -> None:
    image_store = a_store(tmp_path)
    wanted, unwanted = (
        an_image(image_store, b"base", b"one"),
        an_image(image_store, b"base", b"two"),
    )
    image_store.remember(a_record(image_store, "one", wanted))

    image_store.collect_garbage()

    assert image_store.blob(wanted).exists()
    assert not image_store.blob(unwanted).exists()
    assert len(list(image_store.blobs.iterdir())) == 4


def test_a_finished_layout_moves_into_the_store(tmp_path: Path) -> None:
    image_store, other = a_store(tmp_path), a_store(tmp_path / "other")
    digest = an_image(other, b"base", b"one")
    base = image_store.add(b"base")
    layout = tmp_path / "layout"
    image_store.lend(layout, [base.digest])
    missing = {path.name for path in other.blobs.iterdir()} - {image_store.blob(base.digest).name}
    for name in missing:
        (layout / "blobs" / "sha256" / name).write_bytes((other.blobs / name).read_bytes())
    other.write_layout(layout, digest)

    assert image_store.adopt(layout) == digest

    assert [
        image_store.blob(la.digest).read_bytes() for la in image_store.manifest(digest).layers
    ] == [
        b"base",
        b"one",
    ]
    assert not layout.exists()


def test_two_builds_at_once_are_refused(tmp_path: Path) -> None:
    image_store = a_store(tmp_path)

    with (
        image_store.locked(),
        pytest.raises(errors.HostError, match="another build"),
        image_store.locked(),
    ):
        pass


def test_the_history_of_an_image_does_not_tell_where_it_was_built() -> None:
    steps = [{"created_by": "RUN true", "comment": "FROM localhost/var/cache/images/debian"}]
    config = json.dumps({"os": "linux", "history": steps}).encode()

    found = json.loads(oci.without_comments(config))

    assert found == {"os": "linux", "history": [{"created_by": "RUN true"}]}


def test_a_runtime_gets_images_by_links(tmp_path: Path) -> None:
    image_store = a_store(tmp_path)
    one, two = an_image(image_store, b"base", b"one"), an_image(image_store, b"base", b"two")
    assert image_store.share(tmp_path / "runtime", [one])
    assert image_store.share(tmp_path / "runtime", [one, two]), "what is there is left as it is"
    blobs = list((tmp_path / "runtime/blobs/sha256").iterdir())
    assert len(blobs) == 2 + 2 + 3
    assert all(blob.samefile(image_store.blobs / blob.name) for blob in blobs)


def test_a_runtime_on_another_file_system_gets_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(source: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    image_store = a_store(tmp_path)
    image = an_image(image_store, b"base")
    monkeypatch.setattr(os, "link", elsewhere)
    assert not image_store.share(tmp_path / "runtime", [image])
