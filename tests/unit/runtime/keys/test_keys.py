import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa

from cobaltcore.runtime import keys

SHAPES = [
    keys.Shape("RSA", 2048),
    keys.Shape("ECDSA", 256),
    keys.Shape("ECDSA", 384),
    keys.Shape("ECDSA", 521),
    keys.Shape("Ed25519", 256),
]


@pytest.mark.parametrize("encoding", ["PKCS1", "PKCS8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_key_keeps_its_shape_on_paper(shape: keys.Shape, encoding: keys.Encoding) -> None:
    key = keys.generate(shape)

    assert keys.shape_of(keys.load(keys.dump(key, encoding))) == shape


@pytest.mark.parametrize("shape", [keys.Shape("RSA", 1024), keys.Shape("ECDSA", 255)], ids=str)
def test_weak_or_unknown_size_is_refused(shape: keys.Shape) -> None:
    with pytest.raises(ValueError, match="key has"):
        keys.generate(shape)


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
