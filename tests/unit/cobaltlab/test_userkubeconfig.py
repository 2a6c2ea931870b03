from pathlib import Path

import pytest
import yaml

from cobaltlab import errors, pki, statedir, userkubeconfig

FOREIGN = {
    "apiVersion": "v1",
    "kind": "Config",
    "preferences": {"colors": True},
    "clusters": [{"name": "work", "cluster": {"server": "https://work.example"}}],
    "users": [{"name": "me", "user": {"token": "t"}}],
    "contexts": [{"name": "work", "context": {"cluster": "work", "user": "me"}}],
    "current-context": "work",
}


@pytest.fixture
def state_dir(tmp_path: Path) -> statedir.StateDir:
    found = statedir.StateDir("lab", tmp_path / "lab")
    found.keys.kubeconfig("admin", server="https://100.64.0.10:6443", groups=(pki.ADMINISTRATORS,))
    return found


def test_merge_adds_a_context_and_keeps_everything_else(
    tmp_path: Path, state_dir: statedir.StateDir
) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(FOREIGN))
    userkubeconfig.merge(state_dir, path)
    content = yaml.safe_load(path.read_text())
    assert content["current-context"] == "work"
    assert content["preferences"] == {"colors": True}
    assert [each["name"] for each in content["contexts"]] == ["work", "cobalt-lab"]
    assert content["clusters"][1]["cluster"]["server"] == "https://100.64.0.10:6443"
    assert path.stat().st_mode & 0o777 == 0o600


def test_merge_is_idempotent(tmp_path: Path, state_dir: statedir.StateDir) -> None:
    path = tmp_path / "config"
    userkubeconfig.merge(state_dir, path)
    once = path.read_text()
    userkubeconfig.merge(state_dir, path)
    assert path.read_text() == once


def test_merge_creates_a_missing_file_with_its_context_as_current(
    tmp_path: Path, state_dir: statedir.StateDir
) -> None:
    path = tmp_path / "home/.kube/config"
    (tmp_path / "home").mkdir()
    userkubeconfig.merge(state_dir, path)
    assert yaml.safe_load(path.read_text())["current-context"] == "cobalt-lab"


def test_merge_follows_a_symbolic_link(tmp_path: Path, state_dir: statedir.StateDir) -> None:
    (tmp_path / "config").symlink_to(tmp_path / "elsewhere")
    userkubeconfig.merge(state_dir, tmp_path / "config")
    assert (tmp_path / "config").is_symlink()
    assert "cobalt-lab" in (tmp_path / "elsewhere").read_text()


def test_remove_restores_the_previous_content(
    tmp_path: Path, state_dir: statedir.StateDir
) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(FOREIGN))
    userkubeconfig.merge(state_dir, path)
    userkubeconfig.remove(state_dir, path)
    assert yaml.safe_load(path.read_text()) == FOREIGN


@pytest.mark.parametrize("content", ["{", "kind: Pod", "- a list"])
def test_a_file_that_is_not_a_kubeconfig_is_unchanged(
    tmp_path: Path, state_dir: statedir.StateDir, content: str
) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(errors.LabError, match="was not changed"):
        userkubeconfig.merge(state_dir, path)
    assert path.read_text() == content


def test_the_path_is_the_one_kubectl_writes() -> None:
    assert userkubeconfig.path({"KUBECONFIG": "/a:/b", "HOME": "/h"}) == Path("/a")
    assert userkubeconfig.path({"HOME": "/h"}) == Path("/h/.kube/config")
