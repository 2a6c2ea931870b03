"""Signatures over image digests and bills of material, in the form that cosign verifies.

Each installation has a key of its own. A signature is an OCI artefact beside the image, named after
the image's digest, so it travels with it to a registry:
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

from cobaltcore.lab import errors
from cobaltcore.lab.images import materials, oci, store
from cobaltcore.runtime import files

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
        """The half to give to those who verify."""
        return self.directory / "cosign.pub"

    @property
    def _private_file(self) -> Path:
        return self.directory / "cosign.key"

    def private(self) -> ec.EllipticCurvePrivateKey:
        """The signing key, made on first use."""
        if not self._private_file.exists():
            self._generate()
        found = serialization.load_pem_private_key(self._private_file.read_bytes(), password=None)
        if not isinstance(found, ec.EllipticCurvePrivateKey):
            raise errors.LabError(
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
    kept: store.Store, keys: Keys, *, repository: str, digest: str, bill: Mapping[str, Any]
) -> dict[str, str]:
    """Sign an image and its bill; return the digests of what was put beside the image."""
    key = keys.private()
    payload = simple_signing_payload(repository, digest)
    signature = _artefact(kept, payload, _SIMPLE_SIGNING, {_ANNOTATION: _sign(key, payload)})
    statement = attestation_statement(repository, digest, bill)
    envelope = msgspec.json.encode(
        {
            "payloadType": _IN_TOTO,
            "payload": base64.b64encode(statement).decode(),
            "signatures": [{"keyid": "", "sig": _sign(key, pre_authentication(statement))}],
        }
    )
    annotations = {_ANNOTATION: "", "predicateType": materials.PREDICATE_TYPE}
    attestation = _artefact(kept, envelope, _ENVELOPE, annotations)
    return {SIGNATURE: signature, ATTESTATION: attestation}


def is_valid(
    kept: store.Store, public: ec.EllipticCurvePublicKey, *, digest: str, signature: str
) -> bool:
    """Whether a signature beside an image is ours and speaks of this image."""
    try:
        (layer,) = kept.manifest(signature).layers
        payload = kept.blob(layer.digest).read_bytes()
        signed = base64.b64decode(layer.annotations[_ANNOTATION])
        public.verify(signed, payload, _ALGORITHM)
        named = msgspec.json.decode(payload)["critical"]["image"]["docker-manifest-digest"]
    except (OSError, KeyError, ValueError, InvalidSignature, msgspec.MsgspecError):
        return False
    is_intact = oci.file_digest(kept.blob(digest)) == digest
    return bool(named == digest) and is_intact


def attested_bill(kept: store.Store, attestation: str) -> dict[str, Any]:
    """The bill of material in an attestation beside an image."""
    (layer,) = kept.manifest(attestation).layers
    envelope = msgspec.json.decode(kept.blob(layer.digest).read_bytes())
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


def attestation_statement(repository: str, digest: str, bill: Mapping[str, Any]) -> bytes:
    """An in-toto statement: this image is made of that."""
    return msgspec.json.encode(
        {
            "_type": "https://in-toto.io/Statement/v0.1",
            "predicateType": materials.PREDICATE_TYPE,
            "subject": [
                {"name": repository, "digest": {"sha256": digest.removeprefix("sha256:")}}
            ],
            "predicate": bill,
        }
    )


def pre_authentication(statement: bytes) -> bytes:
    """The bytes that an envelope's signature covers."""
    kind = _IN_TOTO.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(statement), statement)


def tag(digest: str, kind: str) -> str:
    """The tag under which verifiers look for what belongs to an image."""
    return f"{digest.replace(':', '-')}.{kind}"


def _sign(key: ec.EllipticCurvePrivateKey, content: bytes) -> str:
    return base64.b64encode(key.sign(content, _ALGORITHM)).decode()


def _artefact(
    kept: store.Store, content: bytes, media_type: str, annotations: dict[str, str]
) -> str:
    blob = kept.add(content)
    layer = oci.Descriptor(
        media_type=media_type, digest=blob.digest, size=blob.size, annotations=annotations
    )
    plain = f"sha256:{hashlib.sha256(content).hexdigest()}"
    config = kept.add(oci.configuration([plain], settings={}, created="1970-01-01T00:00:00Z"))
    described = oci.Descriptor(media_type=oci.CONFIG, digest=config.digest, size=config.size)
    return kept.add(oci.encode(oci.Manifest(config=described, layers=[layer]))).digest
