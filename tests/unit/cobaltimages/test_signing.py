import base64
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from cobaltimages import oci, signing, store

REPOSITORY = "ghcr.io/c5c3/keystone"
DOCUMENT = {"bomFormat": "CycloneDX"}


@pytest.fixture
def image_store(tmp_path: Path) -> store.Store:
    found = store.Store(tmp_path / "store")
    found.prepare()
    return found


@pytest.fixture
def keys(tmp_path: Path) -> signing.Keys:
    return signing.Keys(tmp_path / "keys")


def an_image(image_store: store.Store, content: bytes = b"layer") -> str:
    layer = image_store.add(content)
    return image_store.add(oci.encode(oci.Manifest(config=layer, layers=[layer]))).digest


def test_a_signature_is_valid_for_its_image(image_store: store.Store, keys: signing.Keys) -> None:
    digest = an_image(image_store)

    found = signing.attach(
        image_store, keys, repository=REPOSITORY, digest=digest, document=DOCUMENT
    )

    assert signing.is_valid(
        image_store, keys.public(), digest=digest, signature=found[signing.SIGNATURE]
    )


def test_a_signature_is_not_valid_for_another_image(
    image_store: store.Store, keys: signing.Keys
) -> None:
    digest, other = an_image(image_store), an_image(image_store, b"other")

    found = signing.attach(
        image_store, keys, repository=REPOSITORY, digest=digest, document=DOCUMENT
    )

    assert not signing.is_valid(
        image_store, keys.public(), digest=other, signature=found[signing.SIGNATURE]
    )


def test_a_foreign_key_does_not_verify(
    image_store: store.Store, keys: signing.Keys, tmp_path: Path
) -> None:
    digest = an_image(image_store)
    other_keys = signing.Keys(tmp_path / "other")

    found = signing.attach(
        image_store, other_keys, repository=REPOSITORY, digest=digest, document=DOCUMENT
    )

    assert not signing.is_valid(
        image_store, keys.public(), digest=digest, signature=found[signing.SIGNATURE]
    )


def test_a_changed_manifest_is_noticed(image_store: store.Store, keys: signing.Keys) -> None:
    digest = an_image(image_store)
    found = signing.attach(
        image_store, keys, repository=REPOSITORY, digest=digest, document=DOCUMENT
    )

    image_store.blob(digest).write_bytes(b"{}")

    assert not signing.is_valid(
        image_store, keys.public(), digest=digest, signature=found[signing.SIGNATURE]
    )


def test_an_image_without_a_signature_is_not_valid(
    image_store: store.Store, keys: signing.Keys
) -> None:
    assert not signing.is_valid(
        image_store, keys.public(), digest=an_image(image_store), signature=""
    )


def test_an_attestation_carries_the_bill_under_our_signature(
    image_store: store.Store, keys: signing.Keys
) -> None:
    digest = an_image(image_store)

    found = signing.attach(
        image_store, keys, repository=REPOSITORY, digest=digest, document=DOCUMENT
    )

    (layer,) = image_store.manifest(found[signing.ATTESTATION]).layers
    envelope = msgspec.json.decode(image_store.blob(layer.digest).read_bytes())
    statement = base64.b64decode(envelope["payload"])
    signature = base64.b64decode(envelope["signatures"][0]["sig"])
    keys.public().verify(
        signature, signing.pre_authentication(statement), ec.ECDSA(hashes.SHA256())
    )
    assert msgspec.json.decode(statement)["predicate"] == DOCUMENT
    assert msgspec.json.decode(statement)["subject"][0]["digest"]["sha256"] in digest


def test_the_key_is_generated_once_and_is_for_its_owner_only(keys: signing.Keys) -> None:
    first = keys.private().private_numbers()

    assert keys.private().private_numbers() == first
    assert (keys.directory / "cosign.key").stat().st_mode & 0o077 == 0
    assert b"PUBLIC KEY" in keys.public_file.read_bytes()


def test_verifiers_find_signatures_by_the_digest() -> None:
    assert signing.tag("sha256:abc", signing.SIGNATURE) == "sha256-abc.sig"
