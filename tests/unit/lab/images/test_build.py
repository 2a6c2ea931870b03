"""Which images are built again, and which are left alone."""

import json
from pathlib import Path

import pytest

from cobaltcore.lab import errors, packages, phases
from cobaltcore.lab.images import (
    build,
    catalogue,
    finish,
    inputs,
    means,
    recipe,
    release,
    signing,
    sources,
    store,
)
from tests.unit.lab.images.test_recipe import ON_DEBIAN, ON_PYTHON, a_tree
from tests.unit.lab.images.test_store import a_store, an_image

RELEASE = "2025.2"


class Shelf:
    """A source tree with four images, and a store in which all of them are up to date."""

    def __init__(self, root: Path) -> None:
        self.tree = a_tree(
            root,
            python_base=ON_DEBIAN,
            keystone=ON_PYTHON,
            memcached=f"{ON_DEBIAN}LABEL io.c5c3.also-known-as=memcached.example/memcached:1.6\n",
        )
        directory = self.tree.release(RELEASE)
        directory.mkdir(parents=True)
        (directory / "release.env").write_text(f"RELEASE={RELEASE}\nEXCLUDE_NEWER=2025-10-28\n")
        (directory / "source-refs.yaml").write_text("keystone: 28.0.0\n")
        (directory / "extra-packages.yaml").write_text("")
        self.kept = a_store(root)
        for name, made in recipe.read_all(self.tree).items():
            self.remember(name, made)

    def remember(self, name: str, made: recipe.Recipe) -> None:
        given = inputs.gather(self.tree, release.read(self.tree, RELEASE), made)
        digest = an_image(self.kept, name.encode())
        known = self.kept.records(RELEASE)
        keys = signing.Keys(self.kept.directory / "keys")
        bill = {"of": digest}
        self.kept.remember(
            store.Record(
                name=name,
                release=RELEASE,
                version=given.version or "1.0",
                inputs=given.key,
                parents={parent: known[parent].digest for parent in made.parents},
                archive="spring",
                digest=digest,
                layers={layer.digest: layer.size for layer in self.kept.manifest(digest).layers},
                aliases=list(made.aliases),
                attachments=signing.attach(
                    self.kept, keys, repository=made.repository, digest=digest, bill=bill
                ),
            )
        )

    def run(self, *, archive: str = "", refresh: bool = False, force: bool = False) -> build.Run:
        pinned = release.read(self.tree, RELEASE)
        recipes = recipe.read_all(self.tree)
        context = finish.Context(
            tree=self.tree,
            pinned=pinned,
            kept=self.kept,
            keys=signing.Keys(self.kept.directory / "keys"),
            archive=archive,
        )
        wishes = build.Wishes(release=RELEASE, is_refresh=refresh, is_forced=force)
        given = {name: inputs.gather(self.tree, pinned, made) for name, made in recipes.items()}
        return build.Run(wishes, context, recipes, given)

    def change(self, path: str) -> None:
        file = self.tree.root / path
        file.write_text(file.read_text() + "# changed\n")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def test_nothing_is_stale_when_nothing_changed(shelf: Shelf) -> None:
    assert shelf.run().stale() == []


def test_a_changed_image_is_stale_with_all_that_stand_on_it(shelf: Shelf) -> None:
    shelf.change("images/python-base/Containerfile")

    assert shelf.run().stale() == ["python-base", "keystone"]


def test_an_earlier_build_with_the_same_inputs_is_taken_again(shelf: Shelf) -> None:
    """As when somebody goes to another branch, builds there and comes back."""
    containerfile = shelf.tree.root / "images/keystone/Containerfile"
    ours, record = containerfile.read_text(), shelf.kept.records(RELEASE)["keystone"]
    shelf.change("images/keystone/Containerfile")
    shelf.remember("keystone", recipe.read_all(shelf.tree)["keystone"])
    shelf.kept.collect_garbage()
    assert shelf.run().stale() == []

    containerfile.write_text(ours)

    assert shelf.run().stale() == []
    assert shelf.kept.records(RELEASE)["keystone"] == record
    bill = shelf.kept.materials / RELEASE / "keystone.cdx.json"
    assert json.loads(bill.read_text()) == {"of": record.digest}


def test_a_leaf_is_stale_alone(shelf: Shelf) -> None:
    shelf.change("images/keystone/check")

    assert shelf.run().stale() == ["keystone"]


def test_a_parent_with_another_digest_makes_its_children_stale(shelf: Shelf) -> None:
    made = recipe.read_all(shelf.tree)["python-base"]
    record = shelf.kept.records(RELEASE)["python-base"]
    other = an_image(shelf.kept, b"another python")
    shelf.remember(made.name, made)
    shelf.kept.remember(
        store.Record(
            name=record.name,
            release=RELEASE,
            version=record.version,
            inputs=record.inputs,
            parents=record.parents,
            archive=record.archive,
            digest=other,
            layers=record.layers,
        )
    )

    assert shelf.run().stale() == ["keystone"]


def test_a_new_state_of_debian_counts_only_when_it_is_asked_for(shelf: Shelf) -> None:
    assert shelf.run(archive="autumn").stale() == []
    assert shelf.run(archive="spring", refresh=True).stale() == []
    assert len(shelf.run(archive="autumn", refresh=True).stale()) == 4


def test_force_builds_everything(shelf: Shelf) -> None:
    assert len(shelf.run(force=True).stale()) == 4


def test_up_to_date_images_need_neither_tools_nor_root(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "_build", lambda *_: pytest.fail("there is nothing to build"))

    result = build.build(
        shelf.tree, shelf.kept.directory, build.Wishes(release=RELEASE), phases.Phases()
    )

    assert result.built == {}
    assert list(result.reused) == ["debian", "memcached", "python-base", "keystone"]


def test_a_missing_program_is_named_with_its_package(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.change("images/keystone/check")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(errors.LabError, match="buildah, mmdebstrap") as caught:
        build.build(
            shelf.tree, shelf.kept.directory, build.Wishes(release=RELEASE), phases.Phases()
        )

    assert "apt-get install buildah mmdebstrap util-linux iproute2" in caught.value.hint


def test_missing_programs_are_installed_with_consent(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: name if name != "mmdebstrap" else None)
    monkeypatch.setattr(packages, "install", lambda names, report: asked.extend(names))

    means.expect(shelf.kept.directory, may_install=True, report=lambda text: None)

    assert asked == ["mmdebstrap"]


def test_a_full_disk_is_noticed_before_anything_is_done(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.change("images/keystone/check")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: name)
    monkeypatch.setattr(means, "SPACE_NEEDED_BYTES", 10**18)

    with pytest.raises(errors.LabError, match="GB free, and images need"):
        build.build(
            shelf.tree, shelf.kept.directory, build.Wishes(release=RELEASE), phases.Phases()
        )


def test_the_catalogue_tells_what_is_outdated_and_what_is_missing(shelf: Shelf) -> None:
    shelf.change("images/python-base/Containerfile")
    (shelf.kept.directory / "records" / RELEASE / "memcached.json").unlink()

    found = catalogue.look(shelf.tree, shelf.kept, RELEASE)

    states = {image.repository.rsplit("/", 1)[1]: image.state for image in found.images}
    assert states == {
        "debian": "current",
        "python-base": "outdated",
        "keystone": "outdated",
        "memcached": "missing",
    }


def test_references_are_the_names_that_objects_use(shelf: Shelf) -> None:
    found = catalogue.references(shelf.tree, shelf.kept, RELEASE, ["keystone", "memcached"])

    assert set(found) == {
        "ghcr.io/c5c3/keystone:28.0.0",
        "ghcr.io/c5c3/keystone:stable-2025.2",
        "ghcr.io/c5c3/memcached:1.0",
        "ghcr.io/c5c3/memcached:stable-2025.2",
        "memcached.example/memcached:1.6",
    }


def test_an_image_that_is_not_built_cannot_be_named(shelf: Shelf) -> None:
    with pytest.raises(errors.LabError, match="not built: nova") as caught:
        catalogue.references(shelf.tree, shelf.kept, RELEASE, ["nova"])

    assert caught.value.hint == "cobalt images build nova"


def test_a_folder_that_is_no_source_tree_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.LabError, match="is not a source tree"):
        sources.find(tmp_path)
