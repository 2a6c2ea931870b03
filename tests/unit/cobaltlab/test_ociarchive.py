import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

from cobaltlab import ociarchive


def an_image(content: bytes = b"program") -> ociarchive.Image:
    return ociarchive.Image(
        name="tool",
        entrypoint=["/bin/tool"],
        programs={"bin/tool": content},
        links={"bin/other": "tool"},
        user="1:1",
    )


def members(content: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        return {each.name: file.read() for each in tar if (file := tar.extractfile(each))}


def manifest(files: dict[str, bytes]) -> dict[str, Any]:
    index = json.loads(files["index.json"])
    found: dict[str, Any] = json.loads(_blob(files, index["manifests"][0]))
    return found


def test_archives_are_reproducible() -> None:
    assert ociarchive.archive(an_image()) == ociarchive.archive(an_image())


def test_other_content_has_another_reference() -> None:
    assert ociarchive.archive(an_image()).reference != ociarchive.archive(an_image(b"x")).reference


def test_every_blob_has_its_digest_and_size() -> None:
    files = members(ociarchive.archive(an_image()).content)
    found = manifest(files)
    for descriptor in [found["config"], *found["layers"]]:
        blob = _blob(files, descriptor)
        assert f"sha256:{hashlib.sha256(blob).hexdigest()}" == descriptor["digest"]
        assert len(blob) == descriptor["size"]


def test_the_config_has_layer_user_and_entrypoint() -> None:
    files = members(ociarchive.archive(an_image()).content)
    found = manifest(files)
    config = json.loads(_blob(files, found["config"]))
    assert config["rootfs"]["diff_ids"] == [found["layers"][0]["digest"]]
    assert config["config"]["User"] == "1:1"
    assert config["config"]["Entrypoint"] == ["/bin/tool"]


def test_the_layer_has_programs_and_links() -> None:
    files = members(ociarchive.archive(an_image()).content)
    layer = _blob(files, manifest(files)["layers"][0])
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        assert tar.getmember("bin/tool").mode == 0o755
        assert tar.getmember("bin/other").linkname == "tool"


def test_the_reference_is_read_from_an_archive(tmp_path: Path) -> None:
    archive = ociarchive.archive(an_image())
    (tmp_path / "a.tar").write_bytes(archive.content)
    assert ociarchive.reference(tmp_path / "a.tar") == archive.reference
    assert archive.reference.startswith(f"{ociarchive.REGISTRY}/tool:")


def _blob(files: dict[str, bytes], descriptor: dict[str, Any]) -> bytes:
    return files[f"blobs/sha256/{descriptor['digest'].removeprefix('sha256:')}"]
