"""Signatures of image digests and SBOMs, in the format of cosign.

Each installation has its own key. A signature is an OCI artefact next to the image, tagged with the
image's digest, and is pushed to a registry with it:
`cosign verify --key cosign.pub --insecure-ignore-tlog=true ghcr.io/c5c3/keystone:28.0.0`.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from cobaltcore.runtime import files
from cobaltimages import errors, oci, sbom, store

SIGNATURE = "sig"
ATTESTATION = "att"

_SIMPLE_SIGNING = "application/vnd.dev.cosign.simplesigning.v1+json"
_ENVELOPE = "application/vnd.dsse.envelope.v1+json"
_IN_TOTO = "application/vnd.in-toto+json"
_ANNOTATION = "dev.cosignproject.cosign/signature"
_ALGORITHM = ec.ECDSA(hashes.SHA256())


@dataclass(frozen=True, slots=True)
class Keys:
    """The key pair of this installation."""

    directory: Path

    @property
    def public_file(self) -> Path:
        """The public key, for `cosign verify`."""
        return self.directory / "cosign.pub"

    @property
    def _private_file(self) -> Path:
        return self.directory / "cosign.key"

    def private(self) -> ec.EllipticCurvePrivateKey:
        """The signing key, generated on first use."""
        if not self._private_file.exists():
            self._generate()
        found = serialization.load_pem_private_key(self._private_file.read_bytes(), password=None)
        if not isinstance(found, ec.EllipticCurvePrivateKey):
            raise errors.HostError(
                f"{self._private_file} is not a key of the kind that signs images"
            )
        return found

    def public(self) -> ec.EllipticCurvePublicKey:
        """The verifying key."""
        return self.private().public_key()

    def _generate(self) -> None:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = ec.generate_private_key(ec.SECP256R1())
        secret = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        shared = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        files.replace(self.public_file, shared, mode=0o644)
        files.replace(self._private_file, secret, mode=0o600)


def attach(
    image_store: store.Store,
    keys: Keys,
    *,
    repository: str,
    digest: str,
    document: Mapping[str, Any],
) -> dict[str, str]:
    """Sign an image and its SBOM; return the digests of the artefacts."""
    key = keys.private()
    payload = simple_signing_payload(repository, digest)
    signature = _artefact(
        image_store, payload, _SIMPLE_SIGNING, {_ANNOTATION: _sign(key, payload)}
    )
    statement = attestation_statement(repository, digest, document)
    envelope = msgspec.json.encode(
        {
            "payloadType": _IN_TOTO,
            "payload": base64.b64encode(statement).decode(),
            "signatures": [{"keyid": "", "sig": _sign(key, pre_authentication(statement))}],
        }
    )
    annotations = {_ANNOTATION: "", "predicateType": sbom.PREDICATE_TYPE}
    attestation = _artefact(image_store, envelope, _ENVELOPE, annotations)
    return {SIGNATURE: signature, ATTESTATION: attestation}


def is_valid(
    image_store: store.Store, public: ec.EllipticCurvePublicKey, *, digest: str, signature: str
) -> bool:
    """Whether a signature is of this key and of this image."""
    try:
        (layer,) = image_store.manifest(signature).layers
        payload = image_store.blob(layer.digest).read_bytes()
        signed = base64.b64decode(layer.annotations[_ANNOTATION])
        public.verify(signed, payload, _ALGORITHM)
        named = msgspec.json.decode(payload)["critical"]["image"]["docker-manifest-digest"]
    except (OSError, KeyError, ValueError, InvalidSignature, msgspec.MsgspecError):
        return False
    is_intact = oci.file_digest(image_store.blob(digest)) == digest
    return bool(named == digest) and is_intact


def attested_sbom(image_store: store.Store, attestation: str) -> dict[str, Any]:
    """The SBOM in an attestation."""
    (layer,) = image_store.manifest(attestation).layers
    envelope = msgspec.json.decode(image_store.blob(layer.digest).read_bytes())
    found: dict[str, Any] = msgspec.json.decode(base64.b64decode(envelope["payload"]))["predicate"]
    return found


def simple_signing_payload(repository: str, digest: str) -> bytes:
    """What is signed about an image: its name and its digest."""
    return msgspec.json.encode(
        {
            "critical": {
                "identity": {"docker-reference": repository},
                "image": {"docker-manifest-digest": digest},
                "type": "cosign container image signature",
            },
            "optional": None,
        }
    )


def attestation_statement(repository: str, digest: str, document: Mapping[str, Any]) -> bytes:
    """The in-toto statement with the SBOM of an image."""
    return msgspec.json.encode(
        {
            "_type": "https://in-toto.io/Statement/v0.1",
            "predicateType": sbom.PREDICATE_TYPE,
            "subject": [
                {"name": repository, "digest": {"sha256": digest.removeprefix("sha256:")}}
            ],
            "predicate": document,
        }
    )


def pre_authentication(statement: bytes) -> bytes:
    """The bytes that an envelope's signature covers."""
    kind = _IN_TOTO.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(statement), statement)


def tag(digest: str, kind: str) -> str:
    """The tag under which cosign looks for artefacts of an image."""
    return f"{digest.replace(':', '-')}.{kind}"


def _sign(key: ec.EllipticCurvePrivateKey, content: bytes) -> str:
    return base64.b64encode(key.sign(content, _ALGORITHM)).decode()


def _artefact(
    image_store: store.Store, content: bytes, media_type: str, annotations: dict[str, str]
) -> str:
    blob = image_store.add(content)
    layer = oci.Descriptor(
        media_type=media_type, digest=blob.digest, size=blob.size, annotations=annotations
    )
    plain = f"sha256:{hashlib.sha256(content).hexdigest()}"
    config = image_store.add(
        oci.configuration([plain], settings={}, created="1970-01-01T00:00:00Z")
    )
    described = oci.Descriptor(media_type=oci.CONFIG, digest=config.digest, size=config.size)
    return image_store.add(oci.encode(oci.Manifest(config=described, layers=[layer]))).digest
