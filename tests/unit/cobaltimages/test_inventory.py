import io
import tarfile
from pathlib import Path

import pytest

from cobaltimages import inventory

STATUS = """\
Package: libssl3
Status: install ok installed
Architecture: amd64
Source: openssl (3.0.17)
Version: 3.0.17-1~deb12u3
Description: a library
 in several lines

Package: removed
Status: deinstall ok config-files
Architecture: all
Version: 1.0
"""
METADATA = (
    "Metadata-Version: 2.1\nName: oslo.messaging\nVersion: 17.1.0\nLicense: Apache-2.0\n\ntext"
)


def a_layer(path: Path, files: dict[str, str]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


def test_a_layer_lists_its_packages(tmp_path: Path) -> None:
    site_packages = "var/lib/openstack/lib/python3.11/site-packages"
    layer = a_layer(
        tmp_path / "layer.tar",
        {
            "./var/lib/dpkg/status": STATUS,
            f"{site_packages}/oslo_messaging-17.1.0.dist-info/METADATA": METADATA,
            f"{site_packages}/setuptools/_vendor/wheel-0.45.dist-info/METADATA": METADATA,
        },
    )

    found = inventory.read_layer(layer)

    assert found.debian == [
        inventory.Package(
            kind="deb",
            name="libssl3",
            version="3.0.17-1~deb12u3",
            source="openssl",
            architecture="amd64",
        )
    ]
    assert found.python == [
        inventory.Package(
            kind="pypi", name="oslo-messaging", version="17.1.0", licence="Apache-2.0"
        )
    ]


def test_the_highest_list_of_debian_packages_counts_and_python_adds_up() -> None:
    old, new = (inventory.Package(kind="deb", name="a", version=v) for v in ("1", "2"))
    one, two = (inventory.Package(kind="pypi", name=n, version="1") for n in ("one", "two"))

    found = inventory.merge(
        [
            inventory.Layer(debian=[old], python=[]),
            inventory.Layer(debian=[new], python=[one]),
            inventory.Layer(debian=None, python=[two]),
        ]
    )

    assert found == [new, one, two]


@pytest.mark.parametrize(
    ("version", "upstream"),
    [
        ("1:10.11.19-0+deb12u1", "10.11.19"),
        ("8.0.1+dfsg1-1~bpo12+1", "8.0.1"),
        ("16.2.15+ds-0+deb12u2", "16.2.15"),
        ("3.1.0-2+deb12u1", "3.1.0"),
        ("12.4+deb12u12", "12.4"),
    ],
)
def test_the_upstream_version_is_without_what_debian_adds(version: str, upstream: str) -> None:
    assert inventory.upstream_version(version) == upstream
