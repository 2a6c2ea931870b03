from pathlib import Path

import pytest
import yaml

from cobaltcore.lab import errors, home, pki, userconfig

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
def place(tmp_path: Path) -> home.Home:
    found = home.Home("lab", tmp_path / "lab")
    found.keys.kubeconfig("admin", server="https://100.64.0.10:6443", groups=(pki.ADMINISTRATORS,))
    return found


def test_merge_adds_a_context_and_keeps_everything_else(tmp_path: Path, place: home.Home) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(FOREIGN))
    userconfig.merge(place, path)
    content = yaml.safe_load(path.read_text())
    assert content["current-context"] == "work"
    assert content["preferences"] == {"colors": True}
    assert [each["name"] for each in content["contexts"]] == ["work", "cobalt-lab"]
    assert content["clusters"][1]["cluster"]["server"] == "https://100.64.0.10:6443"
    assert path.stat().st_mode & 0o777 == 0o600


def test_merge_twice_is_merge_once(tmp_path: Path, place: home.Home) -> None:
    path = tmp_path / "config"
    userconfig.merge(place, path)
    once = path.read_text()
    userconfig.merge(place, path)
    assert path.read_text() == once


def test_merge_makes_a_missing_file_and_its_context_the_current_one(
    tmp_path: Path, place: home.Home
) -> None:
    path = tmp_path / "home/.kube/config"
    (tmp_path / "home").mkdir()
    userconfig.merge(place, path)
    assert yaml.safe_load(path.read_text())["current-context"] == "cobalt-lab"


def test_merge_follows_a_link(tmp_path: Path, place: home.Home) -> None:
    (tmp_path / "config").symlink_to(tmp_path / "elsewhere")
    userconfig.merge(place, tmp_path / "config")
    assert (tmp_path / "config").is_symlink()
    assert "cobalt-lab" in (tmp_path / "elsewhere").read_text()


def test_forget_restores_what_was_there(tmp_path: Path, place: home.Home) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(FOREIGN))
    userconfig.merge(place, path)
    userconfig.forget(place, path)
    assert yaml.safe_load(path.read_text()) == FOREIGN


@pytest.mark.parametrize("content", ["{", "kind: Pod", "- a list"])
def test_a_file_that_is_no_kubeconfig_is_left_alone(
    tmp_path: Path, place: home.Home, content: str
) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(errors.LabError, match="left as it is"):
        userconfig.merge(place, path)
    assert path.read_text() == content


def test_the_target_is_what_kubectl_would_change() -> None:
    assert userconfig.target({"KUBECONFIG": "/a:/b", "HOME": "/h"}) == Path("/a")
    assert userconfig.target({"HOME": "/h"}) == Path("/h/.kube/config")
