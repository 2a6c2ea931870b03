from typing import Any

from cobaltimages import inventory, sbom

SUBJECT = sbom.Subject(
    name="keystone",
    version="28.0.0",
    repository="ghcr.io/c5c3/keystone",
    digest=f"sha256:{'ab' * 32}",
    created="2025-10-28T00:00:00+00:00",
)
SSL = inventory.Package(
    kind="deb",
    name="libssl3",
    version="3.0.17-1~deb12u3",
    source="openssl",
    architecture="amd64",
)
MESSAGING = inventory.Package(
    kind="pypi", name="oslo-messaging", version="17.1.0", licence="Apache-2.0"
)
PATCH = sbom.Patch(
    package="oslo-messaging",
    path="patches/oslo.messaging/2025.2/0001-early.patch",
    text="Subject: [PATCH] Look early\n\nText.\n\nRelated-Bug: #2035113\n---\n",
)


def component(document: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (part for part in document["components"] if part["name"] == name)
    return dict(found)


def test_a_bill_names_the_image_and_every_package() -> None:
    document = sbom.document(SUBJECT, [SSL, MESSAGING])

    image = document["metadata"]["component"]
    assert image["hashes"] == [{"alg": "SHA-256", "content": "ab" * 32}]
    assert component(document, "libssl3")["purl"] == (
        "pkg:deb/debian/libssl3@3.0.17-1~deb12u3?arch=amd64&distro=debian-12"
    )
    assert component(document, "oslo-messaging")["purl"] == "pkg:pypi/oslo-messaging@17.1.0"
    assert len(document["dependencies"][0]["dependsOn"]) == 2


def test_a_patch_is_the_pedigree_of_its_package_and_of_no_other() -> None:
    document = sbom.document(SUBJECT, [SSL, MESSAGING], patches=[PATCH])

    (patch,) = component(document, "oslo-messaging")["pedigree"]["patches"]
    assert patch["diff"]["url"] == PATCH.path
    assert patch["resolves"] == [{"type": "defect", "id": "LP#2035113", "name": "Look early"}]
    assert "pedigree" not in component(document, "libssl3")


def test_an_overridden_pin_is_marked() -> None:
    document = sbom.document(SUBJECT, [MESSAGING], overrides={"oslo-messaging": "17.1.0"})

    assert component(document, "oslo-messaging")["properties"] == [
        {"name": "c5c3:constraint-override", "value": "17.1.0"}
    ]


def test_the_same_image_has_the_same_bill() -> None:
    documents = [sbom.encode(sbom.document(SUBJECT, [SSL, MESSAGING])) for _ in range(2)]

    assert documents[0] == documents[1]
