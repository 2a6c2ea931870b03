"""The layer with the agents of an image."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from cobaltimages import agents, errors, oci, recipe, sources
from tests.unit.cobaltimages.test_inputs import add, gathered
from tests.unit.cobaltimages.test_recipe import ON_DEBIAN, a_tree
from tests.unit.cobaltimages.test_store import a_store, an_image

EPOCH = 1_700_000_000
AGENTS = "src/cobaltcore/agents"


@pytest.fixture
def tree(tmp_path: Path) -> sources.Sources:
    found = a_tree(tmp_path, ovs=f'{ON_DEBIAN}LABEL io.c5c3.agents="ceph ovs"\n', redis=ON_DEBIAN)
    add(tmp_path / "pyproject.toml", '[project]\nversion = "1.2"\n')
    add(tmp_path / "releases/2025.2/release.env", "RELEASE=2025.2\nEXCLUDE_NEWER=2025-10-28\n")
    add(tmp_path / "releases/2025.2/source-refs.yaml", "")
    add(tmp_path / "releases/2025.2/extra-packages.yaml", "")
    for name in ("cobalt-agent", "dispatch.py", "ceph/check.py", "ovs/sidecar.py", "nova/a.py"):
        add(tmp_path / AGENTS / name, f"# {name}\n")
    return found


def names(layer: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        return [each.name for each in tar if each.isfile()]


def test_an_image_holds_shared_modules_and_the_groups_that_it_names(
    tree: sources.Sources,
) -> None:
    found = gathered(tree, "ovs").agents
    assert names(agents.layer(found, epoch=EPOCH)) == [
        "usr/bin/cobalt-agent",
        "usr/lib/cobalt-agent/cobaltcore/agents/dispatch.py",
        "usr/lib/cobalt-agent/cobaltcore/agents/ceph/check.py",
        "usr/lib/cobalt-agent/cobaltcore/agents/ovs/sidecar.py",
        "usr/lib/cobalt-agent/cobaltcore_agents-1.2.dist-info/METADATA",
    ]


def test_groups_of_the_lab_are_installed_like_those_of_the_product(
    tree: sources.Sources,
) -> None:
    add(tree.lab_agents / "rook" / "daemon.py", "# daemon\n")
    paths = [each.path for each in agents.files(tree, ["rook"], version="1.2")]
    assert "usr/lib/cobalt-agent/cobaltcore/agents/rook/daemon.py" in paths


def test_a_group_that_does_not_exist_is_an_error(tree: sources.Sources) -> None:
    with pytest.raises(errors.HostError, match="no group of agents 'nvoa'"):
        agents.files(tree, ["nvoa"], version="1.2")


@pytest.mark.parametrize(
    "changed", ["cobalt-agent", "dispatch.py", "ovs/sidecar.py", "ovs/new.py"]
)
def test_a_changed_agent_changes_its_image_and_nothing_below(
    tree: sources.Sources, changed: str
) -> None:
    before, other = gathered(tree, "ovs"), gathered(tree, "redis").key
    add(tree.root / AGENTS / changed, "# changed\n")
    after = gathered(tree, "ovs")
    assert after.key != before.key
    assert after.key_below_agents == before.key_below_agents
    assert gathered(tree, "redis").key == other


def test_an_agent_of_another_group_changes_nothing(tree: sources.Sources) -> None:
    before = gathered(tree, "ovs").key
    add(tree.root / AGENTS / "nova/a.py", "# changed\n")
    assert gathered(tree, "ovs").key == before


def test_the_layer_is_the_last_of_the_image_and_always_the_same(
    tree: sources.Sources, tmp_path: Path
) -> None:
    image_store = a_store(tmp_path)
    (image_store.directory / "tmp").mkdir(exist_ok=True)
    below = an_image(image_store, b"ovs")
    found = agents.files(tree, recipe.read_all(tree)["ovs"].agents, version="1.2")
    digest = agents.add(image_store, below, found, epoch=EPOCH)
    assert agents.add(image_store, below, found, epoch=EPOCH) == digest
    manifest = image_store.manifest(digest)
    assert manifest.layers[:-1] == image_store.manifest(below).layers
    assert manifest.layers[-1].digest == oci.digest(agents.layer(found, epoch=EPOCH))
    config = json.loads(image_store.blob(manifest.config.digest).read_bytes())
    assert config["rootfs"]["diff_ids"][-1] == manifest.layers[-1].digest
