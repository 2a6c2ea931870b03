import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa

from cobaltcore.runtime import keys

SHAPES = [
    keys.KeySpec("RSA", 2048),
    keys.KeySpec("ECDSA", 256),
    keys.KeySpec("ECDSA", 384),
    keys.KeySpec("ECDSA", 521),
    keys.KeySpec("Ed25519", 256),
]


@pytest.mark.parametrize("encoding", ["PKCS1", "PKCS8"])
@pytest.mark.parametrize("spec", SHAPES, ids=str)
def test_key_is_the_same_after_dump_and_load(spec: keys.KeySpec, encoding: keys.Encoding) -> None:
    key = keys.generate(spec)

    assert keys.spec_of(keys.load(keys.dump(key, encoding))) == spec


@pytest.mark.parametrize("spec", [keys.KeySpec("RSA", 1024), keys.KeySpec("ECDSA", 255)], ids=str)
def test_weak_or_unknown_size_is_refused(spec: keys.KeySpec) -> None:
    with pytest.raises(ValueError, match="bits, not"):
        keys.generate(spec)


def test_only_known_and_open_keys_are_read() -> None:
    encrypted = keys.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    other = dsa.generate_private_key(1024).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    for pem in (b"", b"nonsense", encrypted, other):
        with pytest.raises(ValueError, match=r"."):
            keys.load(pem)
