"""Private keys of certificates: generate, read from PEM, write as PEM."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import PrivateFormat

Algorithm = Literal["RSA", "ECDSA", "Ed25519"]
Encoding = Literal["PKCS1", "PKCS8"]
PrivateKey: TypeAlias = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
PublicKey: TypeAlias = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey

DEFAULT_SIZES: dict[Algorithm, int] = {"RSA": 2048, "ECDSA": 256, "Ed25519": 256}
SMALLEST_RSA = 2048
_CURVES: dict[int, type[ec.EllipticCurve]] = {
    256: ec.SECP256R1,
    384: ec.SECP384R1,
    521: ec.SECP521R1,
}


@dataclass(frozen=True, slots=True)
class KeySpec:
    """Algorithm and size; Ed25519 has only one size."""

    algorithm: Algorithm = "ECDSA"
    size_bits: int = DEFAULT_SIZES["ECDSA"]


def check(spec: KeySpec) -> None:
    """Raise ValueError for a size that does not exist or is too weak."""
    if spec.algorithm == "RSA" and spec.size_bits < SMALLEST_RSA:
        raise ValueError(
            f"an RSA key must have at least {SMALLEST_RSA} bits, not {spec.size_bits}"
        )
    if spec.algorithm == "ECDSA" and spec.size_bits not in _CURVES:
        sizes = " or ".join(str(size) for size in _CURVES)
        raise ValueError(f"an ECDSA key must have {sizes} bits, not {spec.size_bits}")


def generate(spec: KeySpec | None = None) -> PrivateKey:
    """Generate a key, ECDSA P-256 by default; ValueError as `check`."""
    wanted = spec or KeySpec()
    check(wanted)
    if wanted.algorithm == "Ed25519":
        return ed25519.Ed25519PrivateKey.generate()
    if wanted.algorithm == "RSA":
        return rsa.generate_private_key(public_exponent=65537, key_size=wanted.size_bits)
    return ec.generate_private_key(_CURVES[wanted.size_bits]())


def spec_of(key: PrivateKey) -> KeySpec:
    if isinstance(key, rsa.RSAPrivateKey):
        return KeySpec("RSA", key.key_size)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return KeySpec("ECDSA", key.key_size)
    return KeySpec("Ed25519", DEFAULT_SIZES["Ed25519"])


def load(pem: bytes) -> PrivateKey:
    """Read an unencrypted key from PEM; anything else is a ValueError."""
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(str(error)) from error
    if not isinstance(key, PrivateKey):
        raise ValueError("the key is neither RSA nor ECDSA nor Ed25519")  # noqa: TRY004 bad content
    return key


def dump(key: PrivateKey, encoding: Encoding = "PKCS8") -> bytes:
    """Write a key as PEM; Ed25519 has no PKCS1 form."""
    traditional = encoding == "PKCS1" and not isinstance(key, ed25519.Ed25519PrivateKey)
    return key.private_bytes(
        serialization.Encoding.PEM,
        PrivateFormat.TraditionalOpenSSL if traditional else PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
