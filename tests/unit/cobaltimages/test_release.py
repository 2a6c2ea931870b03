from pathlib import Path

import pytest

from cobaltimages import errors, release, sources

REAL = sources.find()


def a_release(root: Path, *, refs: str = "keystone: 28.0.0\n") -> sources.Sources:
    directory = root / "releases" / "2025.2"
    (directory / "requirements").mkdir(parents=True)
    (directory / "release.env").write_text("RELEASE=2025.2\nEXCLUDE_NEWER=2025-10-28\n")
    (directory / "source-refs.yaml").write_text(refs)
    (directory / "extra-packages.yaml").write_text("keystone: {pip_extras: [ldap]}\n")
    return sources.Sources(root)


def test_a_component_is_required_with_its_extras_and_its_name_on_the_index(tmp_path: Path) -> None:
    tree = a_release(tmp_path, refs="keystone: 28.0.0\nplacement: 14.0.0\n")

    found = release.read(tree, "2025.2")

    assert found.requirement("keystone") == "keystone[ldap]==28.0.0"
    assert found.requirement("placement") == "openstack-placement==14.0.0"


def test_a_branch_is_not_a_version(tmp_path: Path) -> None:
    tree = a_release(tmp_path, refs="keystone: stable/2025.2\n")

    with pytest.raises(errors.HostError, match=r'"stable/2025\.2" of keystone is not a released'):
        release.read(tree, "2025.2")


def test_a_misspelt_field_is_refused(tmp_path: Path) -> None:
    tree = a_release(tmp_path)
    (tree.release("2025.2") / "extra-packages.yaml").write_text("keystone: {apt: [x]}\n")

    with pytest.raises(errors.HostError, match=r"extra-packages\.yaml cannot be used"):
        release.read(tree, "2025.2")


def test_an_unknown_release_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    tree = a_release(tmp_path)

    with pytest.raises(errors.HostError, match=r'release "2026\.1" has no pins') as caught:
        release.read(tree, "2026.1")

    assert "2025.2" in caught.value.hint


def test_overrides_replace_pins_or_lift_their_date(tmp_path: Path) -> None:
    path = tmp_path / "constraints.txt"
    path.write_text("# why\nOslo.Messaging===17.1.1  # because\n-requests\n\n")

    found = release.read_overrides(path)

    assert found.replaced == {"oslo-messaging": "17.1.1"}
    assert found.freed == {"requests"}


def test_an_override_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "constraints.txt"
    path.write_text("requests>=2\n")

    with pytest.raises(errors.HostError, match="cannot read 'requests>=2'"):
        release.read_overrides(path)


@pytest.mark.parametrize("name", REAL.releases())
def test_the_lock_of_a_release_is_consistent(name: str) -> None:
    """Every component is locked at its version, and no package is in two layers of an image."""
    pinned = release.read(REAL, name)
    shared = pinned.pins(release.SHARED)
    constraints = release.read_pins((pinned.directory / "upper-constraints.txt").read_text())

    for component, version in pinned.refs.items():
        own = pinned.pins(component)
        assert own[release.index_name(component)] == version
        assert not own.keys() & shared.keys()
        assert {**own, **shared}.items() <= constraints.items()


@pytest.mark.parametrize("name", REAL.releases())
def test_every_locked_file_has_a_hash(name: str) -> None:
    pinned = release.read(REAL, name)

    for layer in (release.SHARED, *pinned.refs):
        text = pinned.requirements(layer).read_text()
        assert text.count("==") - text.count("===") == len(pinned.pins(layer))
        for pin in text.replace("\\\n", "").splitlines()[1:]:
            assert "--hash=sha256:" in pin
