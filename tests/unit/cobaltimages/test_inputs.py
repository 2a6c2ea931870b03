from pathlib import Path

import pytest

from cobaltimages import inputs, recipe, release, sources
from tests.unit.cobaltimages.test_recipe import ON_DEBIAN, a_tree

SERVICE = (
    f"{ON_DEBIAN}"
    "RUN --mount=type=bind,from=tools,target=/t --mount=type=bind,from=release,target=/r "
    "--mount=type=bind,from=patches,target=/p /t/tool\n"
)


@pytest.fixture
def tree(tmp_path: Path) -> sources.Sources:
    found = a_tree(tmp_path, keystone=SERVICE, memcached=ON_DEBIAN)
    directory = found.release("2025.2")
    (directory / "requirements").mkdir(parents=True)
    (directory / "release.env").write_text("RELEASE=2025.2\nEXCLUDE_NEWER=2025-10-28\n")
    (directory / "source-refs.yaml").write_text("keystone: 28.0.0\n")
    (directory / "extra-packages.yaml").write_text("keystone: {apt_packages: [libldap]}\n")
    (directory / "upper-constraints.txt").write_text("keystone===28.0.0\n")
    (directory / "requirements" / "keystone.txt").write_text("keystone==28.0.0\noslo-log==1.0\n")
    found.tools.mkdir()
    (found.tools / "tool").write_text('"$tools/helper"\n')
    (found.tools / "helper").write_text("true\n")
    (found.tools / "other-tool").write_text("true\n")
    return found


def gathered(tree: sources.Sources, name: str, *, base: str = "") -> inputs.Inputs:
    recipes = recipe.read_all(tree)
    return inputs.gather(tree, release.read(tree, "2025.2"), recipes[name], base=base)


def add(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_same_inputs_have_the_same_key(tree: sources.Sources) -> None:
    assert gathered(tree, "keystone").key == gathered(tree, "keystone").key


@pytest.mark.parametrize(
    "changed",
    [
        "images/keystone/Containerfile",
        "images/keystone/check",
        "images/keystone/new-file",
        "images/tools/tool",
        "images/tools/helper",
        "releases/2025.2/requirements/keystone.txt",
        "releases/2025.2/upper-constraints.txt",
        "patches/keystone/2025.2/0001-fix.patch",
        "patches/oslo.log/2025.2/0001-fix.patch",
    ],
)
def test_a_changed_input_changes_the_key(tree: sources.Sources, changed: str) -> None:
    before = gathered(tree, "keystone").key
    path = tree.root / changed

    add(path, (path.read_text() if path.exists() else "") + "# changed\n")

    assert gathered(tree, "keystone").key != before


@pytest.mark.parametrize(
    "other",
    [
        "images/memcached/Containerfile",
        "images/tools/other-tool",
        "releases/2025.2/requirements/nova.txt",
        "patches/nova/2025.2/0001-fix.patch",
        "patches/keystone/2026.1/0001-fix.patch",
        "docs/images.md",
    ],
)
def test_what_belongs_to_others_does_not_change_the_key(tree: sources.Sources, other: str) -> None:
    before = gathered(tree, "keystone").key
    path = tree.root / other

    add(path, (path.read_text() if path.exists() else "") + "# changed\n")

    assert gathered(tree, "keystone").key == before


def test_a_key_is_of_the_moment_when_inputs_were_gathered(tree: sources.Sources) -> None:
    found = gathered(tree, "keystone")
    before = found.key

    add(tree.root / "images/keystone/Containerfile", f"{SERVICE}# changed during a build\n")

    assert found.key == before


def test_a_tool_that_becomes_executable_changes_the_key(tree: sources.Sources) -> None:
    before = gathered(tree, "keystone").key

    (tree.tools / "tool").chmod(0o755)

    assert gathered(tree, "keystone").key != before


def test_debian_packages_and_the_time_are_arguments(tree: sources.Sources) -> None:
    found = gathered(tree, "keystone")

    assert found.arguments == {"SOURCE_DATE_EPOCH": "1761609600", "APT_PACKAGES": "libldap"}
    assert found.version == "28.0.0"


def test_another_base_changes_the_root_file_system_only(tree: sources.Sources) -> None:
    base = "registry.example/debian:12"

    assert gathered(tree, "debian").key != gathered(tree, "debian", base=base).key
    assert gathered(tree, "keystone").key == gathered(tree, "keystone", base=base).key


def test_patches_are_those_of_the_packages_in_the_layer(tree: sources.Sources) -> None:
    for component in ("keystone", "oslo.log", "nova"):
        add(tree.patches / component / "2025.2" / "0001-fix.patch", "diff")

    assert gathered(tree, "keystone").patches == (
        "patches/keystone/2025.2/0001-fix.patch",
        "patches/oslo.log/2025.2/0001-fix.patch",
    )


PRODUCT = f"{ON_DEBIAN}RUN --mount=type=bind,from=product,target=/p true\n"
WORKSPACE = f"{ON_DEBIAN}RUN --mount=type=bind,from=workspace,target=/w true\n"


@pytest.fixture
def workspace(tmp_path: Path) -> sources.Sources:
    """The projects of this source tree, with one module each."""
    found = a_tree(tmp_path, cobaltcore=PRODUCT, cobaltlab=WORKSPACE)
    directory = found.release("2025.2")
    add(directory / "release.env", "RELEASE=2025.2\nEXCLUDE_NEWER=2025-10-28\n")
    add(directory / "source-refs.yaml", "{}\n")
    add(directory / "extra-packages.yaml", "{}\n")
    root = sources.find().root
    for project in (".", "src/cobaltimages", "src/cobaltlab"):
        text = (root / project / "pyproject.toml").read_text()
        add(found.root / project / "pyproject.toml", text)
    for module in ("src/cobaltcore/a.py", "src/cobaltimages/a.py", "src/cobaltlab/a.py"):
        add(found.root / module, "")
    add(found.root / "kube/main.go", "package main\n")
    return found


@pytest.mark.parametrize(
    "changed", ["src/cobaltlab/a.py", "src/cobaltimages/a.py", "kube/main.go"]
)
def test_lab_source_changes_only_the_image_of_the_lab(
    workspace: sources.Sources, changed: str
) -> None:
    product, lab = (gathered(workspace, name).key for name in ("cobaltcore", "cobaltlab"))

    add(workspace.root / changed, "changed\n")

    assert gathered(workspace, "cobaltcore").key == product
    assert gathered(workspace, "cobaltlab").key != lab


def test_product_source_changes_the_image_of_the_product(workspace: sources.Sources) -> None:
    before = gathered(workspace, "cobaltcore")

    add(workspace.root / "src/cobaltcore/a.py", "changed\n")

    assert gathered(workspace, "cobaltcore").key != before.key
    assert set(before.contexts["product"]) == {"pyproject.toml", "src/cobaltcore/a.py"}


def test_versions_of_a_release_are_part_of_the_product() -> None:
    product = inputs._product_files(sources.find().root)
    versions = product["src/cobaltcore/releases/2025.2.yaml"].read_text()
    assert versions == (sources.find().release("2025.2") / "source-refs.yaml").read_text()
