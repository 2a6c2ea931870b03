"""The command of the images: which agents it finds, and what it runs."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from cobaltcore.agents import dispatch

GROUPS_OF_THE_STANDARD_LIBRARY = ("keystone", "libvirt", "ovn", "ovs")


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """An image with one agent and a module that is none."""
    group = tmp_path / "ovn"
    group.mkdir()
    (group / "north_south.py").write_text('"""Route packets.\n\nMore."""\ndef main(_): ...\n')
    (group / "paths.py").write_text("")
    return tmp_path


def test_agents_are_modules_of_groups_with_a_main_function(image: Path) -> None:
    assert dispatch.installed(image) == {("ovn", "north-south"): "Route packets."}


def test_help_lists_the_agents_of_the_image(image: Path) -> None:
    assert "  ovn north-south             Route packets.\n" in dispatch.usage(image)


@pytest.mark.parametrize("words", [[], ["ovn"], ["ovn", "south"], ["ready", "nova", "compute"]])
def test_what_is_no_agent_of_the_image_is_refused(image: Path, words: list[str]) -> None:
    assert "no such agent in this image" in str(dispatch.dispatch(words, image))


def test_a_module_that_agents_share_is_none_itself() -> None:
    assert "no such agent in this image" in str(dispatch.dispatch(["ovs", "paths"]))


def test_an_image_without_agents_fails_its_check(tmp_path: Path) -> None:
    assert dispatch.check(tmp_path) == "this image has no agents"


def test_arguments_and_results_are_passed_on(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = SimpleNamespace(
        main=lambda arguments: len(arguments),
        readiness_problem=lambda arguments: f"silent: {arguments[0]}",
    )
    monkeypatch.setattr(dispatch, "load", lambda group, name: agent)
    assert dispatch.dispatch(["ovn", "north-south", "a", "b"], image) == 2
    assert dispatch.dispatch(["ready", "ovn", "north-south", "a"], image) == "silent: a"


@pytest.mark.parametrize("group", GROUPS_OF_THE_STANDARD_LIBRARY)
def test_agents_of_images_without_a_virtual_environment_need_none(group: str) -> None:
    names = [name for each, name in dispatch.installed() if each == group]
    load = "; ".join(f"dispatch.load({group!r}, {name!r})" for name in names)
    code = f"import sys; sys.path.append({str(Path(dispatch.__file__).parents[2])!r})"
    command = f"{code}; from cobaltcore.agents import dispatch; {load}"
    done = subprocess.run(
        [sys.executable, "-S", "-I", "-c", command], capture_output=True, text=True, check=False
    )
    assert names
    assert done.returncode == 0, done.stderr
