import json
from pathlib import Path

import pytest

from cobaltlab import errors, record, statedir


def a_state_dir(tmp_path: Path, name: str = "lab") -> statedir.StateDir:
    return statedir.find(name, {statedir.ROOT_VARIABLE: str(tmp_path)})


def test_the_parent_directory_comes_from_the_environment_or_the_default(tmp_path: Path) -> None:
    assert statedir.find("lab", {}).directory == Path("/var/lib/cobaltcore/lab")
    assert a_state_dir(tmp_path).directory == tmp_path / "lab"


@pytest.mark.parametrize("name", ["", "Lab", "a_b", "-a", "a-", "a/b", "..", "x" * 33])
def test_invalid_names_are_rejected(name: str) -> None:
    with pytest.raises(errors.LabError, match="is not a valid name"):
        statedir.find(name, {})


def test_the_lock_excludes_other_commands(tmp_path: Path) -> None:
    state_dir = a_state_dir(tmp_path)
    with state_dir.locked():
        assert not state_dir.is_idle()
        with pytest.raises(errors.LabError, match="another cobalt command"), state_dir.locked():
            pass
    assert state_dir.is_idle()


def test_the_lock_leaves_no_empty_directory(tmp_path: Path) -> None:
    state_dir = a_state_dir(tmp_path)
    with pytest.raises(ValueError, match="no"), state_dir.locked():
        raise ValueError("no")
    assert not state_dir.directory.exists()


def test_the_directory_is_private_to_its_owner(tmp_path: Path) -> None:
    state_dir = a_state_dir(tmp_path)
    with state_dir.locked():
        assert state_dir.directory.stat().st_mode & 0o077 == 0


def test_a_lab_exists_if_it_has_a_record(tmp_path: Path) -> None:
    state_dir = a_state_dir(tmp_path)
    state_dir.directory.mkdir()
    (tmp_path / "stray").mkdir()
    assert state_dir.read_record() is None
    with pytest.raises(errors.LabError, match="does not exist") as caught:
        state_dir.require_record()
    assert caught.value.hint == "start it: cobalt up"
    record.write(state_dir.directory, record.Instance(name="lab", index=2, nodes=1))
    assert state_dir.require_record().index == 2
    assert statedir.find_all({statedir.ROOT_VARIABLE: str(tmp_path)}) == [state_dir]


def test_a_stopped_lab_hints_how_to_start_it(tmp_path: Path) -> None:
    state_dir = a_state_dir(tmp_path, "second")
    state_dir.directory.mkdir()
    record.write(state_dir.directory, record.Instance(name="second", index=2, nodes=1))
    with pytest.raises(errors.LabError, match="is stopped") as caught:
        state_dir.require_running()
    assert caught.value.hint == "start it: cobalt up --name second"


def test_unknown_fields_of_a_record_are_ignored(tmp_path: Path) -> None:
    written = {"name": "lab", "index": 1, "nodes": 3, "colour": "blue"}
    (tmp_path / record.FILE).write_text(json.dumps(written))
    assert record.read(tmp_path) == record.Instance(name="lab", index=1, nodes=3)
