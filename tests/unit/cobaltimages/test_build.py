"""Which images are built again, and which are left alone."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cobaltcore.cli import phases
from cobaltimages import (
    agents,
    build,
    catalogue,
    errors,
    finish,
    hostpackages,
    inputs,
    preflight,
    recipe,
    release,
    signing,
    sources,
    store,
)
from tests.unit.cobaltimages.test_recipe import ON_DEBIAN, ON_PYTHON, a_tree
from tests.unit.cobaltimages.test_store import a_store, an_image

RELEASE = "2025.2"
CONTAINERFILES = {
    "python_base": ON_DEBIAN,
    "keystone": ON_PYTHON,
    "memcached": f"{ON_DEBIAN}LABEL io.c5c3.also-known-as=memcached.example/memcached:1.6\n",
}


class Shelf:
    """A source tree with images, by default four, and a store in which they are up to date."""

    def __init__(self, root: Path, **containerfiles: str) -> None:
        self.tree = a_tree(root, **(containerfiles or CONTAINERFILES))
        (root / "pyproject.toml").write_text('[project]\nversion = "1.0"\n')
        for path in ("cobalt-agent", "ovs/sidecar.py"):
            (self.tree.agents / path).parent.mkdir(parents=True, exist_ok=True)
            (self.tree.agents / path).touch()
        directory = self.tree.release(RELEASE)
        directory.mkdir(parents=True)
        (directory / "release.env").write_text(f"RELEASE={RELEASE}\nEXCLUDE_NEWER=2025-10-28\n")
        (directory / "source-refs.yaml").write_text("keystone: 28.0.0\n")
        (directory / "extra-packages.yaml").write_text("")
        self.image_store = a_store(root)
        for name, target in recipe.read_all(self.tree).items():
            self.remember(name, target)

    def remember(self, name: str, target: recipe.Recipe) -> None:
        build_inputs = inputs.gather(self.tree, release.read(self.tree, RELEASE), target)
        below = an_image(self.image_store, name.encode())
        (self.image_store.directory / "tmp").mkdir(exist_ok=True)
        digest = (
            agents.add(self.image_store, below, build_inputs.agents, epoch=0)
            if build_inputs.agents
            else below
        )
        known = self.image_store.records(RELEASE)
        keys = signing.Keys(self.image_store.directory / "keys")
        document = {"of": digest}
        self.image_store.remember(
            store.Record(
                name=name,
                release=RELEASE,
                version=build_inputs.version or "1.0",
                inputs=build_inputs.key,
                parents={parent: known[parent].parent_digest for parent in target.parents},
                archive="spring",
                digest=digest,
                layers={
                    layer.digest: layer.size for layer in self.image_store.manifest(digest).layers
                },
                aliases=list(target.aliases),
                attachments=signing.attach(
                    self.image_store,
                    keys,
                    repository=target.repository,
                    digest=digest,
                    document=document,
                ),
                inputs_below_agents=build_inputs.key_below_agents if build_inputs.agents else "",
                digest_below_agents=below if build_inputs.agents else "",
            )
        )

    def run(self, *, archive: str = "", refresh: bool = False, force: bool = False) -> build.Run:
        pinned = release.read(self.tree, RELEASE)
        recipes = recipe.read_all(self.tree)
        context = finish.Context(
            tree=self.tree,
            pinned=pinned,
            image_store=self.image_store,
            keys=signing.Keys(self.image_store.directory / "keys"),
            archive=archive,
        )
        options = build.Options(release=RELEASE, is_refresh=refresh, is_forced=force)
        build_inputs = {
            name: inputs.gather(self.tree, pinned, target) for name, target in recipes.items()
        }
        return build.Run(options, context, recipes, build_inputs)

    def change(self, path: str) -> None:
        file = self.tree.root / path
        file.write_text(file.read_text() + "# changed\n")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def test_nothing_is_stale_when_nothing_changed(shelf: Shelf) -> None:
    assert shelf.run().stale() == []


def test_a_changed_image_is_stale_with_all_that_are_built_on_it(shelf: Shelf) -> None:
    shelf.change("images/python-base/Containerfile")

    assert shelf.run().stale() == ["python-base", "keystone"]


def test_a_changed_agent_replaces_the_layer_of_its_image_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_ovs = "ARG OVS=ghcr.io/c5c3/ovs\nFROM ${OVS}\n"
    shelf = Shelf(tmp_path, ovs=f"{ON_DEBIAN}LABEL io.c5c3.agents=ovs\n", ovn=on_ovs)
    record = shelf.image_store.records(RELEASE)["ovs"]
    shelf.change("src/cobaltcore/agents/ovs/sidecar.py")
    shelf.image_store.collect_garbage()
    assert shelf.run().stale() == ["ovs"]
    states = [each.state for each in catalogue.load(shelf.tree, shelf.image_store, RELEASE).images]
    assert states == ["current", "outdated", "current"]

    finished: list[str] = []

    def finish_image(target: recipe.Recipe, build_inputs: inputs.Inputs, digest: str) -> str:
        finished.append(digest)
        return "sha256:new"

    monkeypatch.setattr(finish, "record", lambda target, build_inputs, built, **_: built)
    run = shelf.run()
    run.stale()
    build_dir: Any = SimpleNamespace(finish=finish_image)
    built: Any = run._make(build_dir, "ovs")
    assert finished == [record.digest_below_agents]
    assert built == finish.Built(
        digest="sha256:new", digest_below_agents=record.digest_below_agents, archive="spring"
    )


def test_an_earlier_build_with_the_same_inputs_is_reused(shelf: Shelf) -> None:
    """As after switching to another branch, building there, and switching back."""
    containerfile = shelf.tree.root / "images/keystone/Containerfile"
    ours, record = containerfile.read_text(), shelf.image_store.records(RELEASE)["keystone"]
    shelf.change("images/keystone/Containerfile")
    shelf.remember("keystone", recipe.read_all(shelf.tree)["keystone"])
    shelf.image_store.collect_garbage()
    assert shelf.run().stale() == []

    containerfile.write_text(ours)

    assert shelf.run().stale() == []
    assert shelf.image_store.records(RELEASE)["keystone"] == record
    document = shelf.image_store.sbom / RELEASE / "keystone.cdx.json"
    assert json.loads(document.read_text()) == {"of": record.digest}


def test_a_leaf_is_stale_alone(shelf: Shelf) -> None:
    shelf.change("images/keystone/check")

    assert shelf.run().stale() == ["keystone"]


def test_a_changed_base_image_makes_its_dependents_stale(shelf: Shelf) -> None:
    target = recipe.read_all(shelf.tree)["python-base"]
    record = shelf.image_store.records(RELEASE)["python-base"]
    other = an_image(shelf.image_store, b"another python")
    shelf.remember(target.name, target)
    shelf.image_store.remember(
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


def test_new_debian_packages_make_images_stale_only_with_refresh(shelf: Shelf) -> None:
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
        shelf.tree, shelf.image_store.directory, build.Options(release=RELEASE), phases.Phases()
    )

    assert result.built == {}
    assert list(result.reused) == ["debian", "memcached", "python-base", "keystone"]


def test_a_missing_program_is_named_with_its_package(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.change("images/keystone/check")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(errors.HostError, match="buildah, mmdebstrap") as caught:
        build.build(
            shelf.tree,
            shelf.image_store.directory,
            build.Options(release=RELEASE),
            phases.Phases(),
        )

    assert "apt-get install buildah mmdebstrap util-linux iproute2" in caught.value.hint


def test_missing_programs_are_installed_with_consent(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: name if name != "mmdebstrap" else None)
    monkeypatch.setattr(hostpackages, "install", lambda names, report: asked.extend(names))

    preflight.check(shelf.image_store.directory, may_install=True, report=lambda text: None)

    assert asked == ["mmdebstrap"]


def test_a_full_disk_is_noticed_before_anything_is_done(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.change("images/keystone/check")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: name)
    monkeypatch.setattr(preflight, "SPACE_NEEDED_BYTES", 10**18)

    with pytest.raises(errors.HostError, match="GB free, and images need"):
        build.build(
            shelf.tree,
            shelf.image_store.directory,
            build.Options(release=RELEASE),
            phases.Phases(),
        )


def test_the_catalogue_shows_what_is_outdated_and_what_is_missing(shelf: Shelf) -> None:
    shelf.change("images/python-base/Containerfile")
    (shelf.image_store.directory / "records" / RELEASE / "memcached.json").unlink()

    found = catalogue.load(shelf.tree, shelf.image_store, RELEASE)

    states = {image.repository.rsplit("/", 1)[1]: image.state for image in found.images}
    assert states == {
        "debian": "current",
        "python-base": "outdated",
        "keystone": "outdated",
        "memcached": "missing",
    }


def test_references_are_the_names_that_objects_use(shelf: Shelf) -> None:
    found = catalogue.references(shelf.tree, shelf.image_store, RELEASE, ["keystone", "memcached"])

    assert set(found) == {
        "ghcr.io/c5c3/keystone:28.0.0",
        "ghcr.io/c5c3/keystone:stable-2025.2",
        "ghcr.io/c5c3/memcached:1.0",
        "ghcr.io/c5c3/memcached:stable-2025.2",
        "memcached.example/memcached:1.6",
    }


def test_an_image_that_is_not_built_cannot_be_named(shelf: Shelf) -> None:
    with pytest.raises(errors.HostError, match="not built: nova") as caught:
        catalogue.references(shelf.tree, shelf.image_store, RELEASE, ["nova"])

    assert caught.value.hint == "cobalt images build nova"


def test_a_folder_that_is_no_source_tree_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.HostError, match="is not a source tree"):
        sources.find(tmp_path)


def test_a_relative_source_tree_becomes_absolute(monkeypatch: pytest.MonkeyPatch) -> None:
    root = sources.find().root
    monkeypatch.chdir(root.parent)

    assert sources.find(Path(root.name)).root == root
