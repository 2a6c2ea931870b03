import pytest

from cobaltcore.engine.desired import memcached


@pytest.mark.parametrize(
    ("quantity", "mebibytes"),
    [
        ("256Mi", 256),
        ("1.5Gi", 1536),
        ("256M", 244),
        ("1G", 953),
        ("268435456", 256),
        ("1", 1),
        ("268435456000m", 256),
    ],
)
def test_memory_is_read_in_every_unit_of_quantities(quantity: str, mebibytes: int) -> None:
    assert memcached.mebibytes(quantity) == mebibytes
