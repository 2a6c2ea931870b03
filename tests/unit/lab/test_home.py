import json
from pathlib import Path

import pytest

from cobaltcore.lab import errors, home, record


def a_home(tmp_path: Path, name: str = "lab") -> home.Home:
    return home.home(name, {home.ROOT_VARIABLE: str(tmp_path)})


def test_the_root_is_the_system_s_or_the_user_s_choice(tmp_path: Path) -> None:
    assert home.home("lab", {}).directory == Path("/var/lib/cobaltcore/lab")
    assert a_home(tmp_path).directory == tmp_path / "lab"


@pytest.mark.parametrize("name", ["", "Lab", "a_b", "-a", "a-", "a/b", "..", "x" * 33])
def test_names_that_would_not_work_are_refused(name: str) -> None:
    with pytest.raises(errors.LabError, match="cannot be the name"):
        home.home(name, {})


def test_one_command_at_a_time(tmp_path: Path) -> None:
    place = a_home(tmp_path)
    with place.locked():
        assert not place.is_idle()
        with pytest.raises(errors.LabError, match="another cobalt command"), place.locked():
            pass
    assert place.is_idle()


def test_a_lock_leaves_no_directory_where_there_was_none(tmp_path: Path) -> None:
    place = a_home(tmp_path)
    with pytest.raises(ValueError, match="no"), place.locked():
        raise ValueError("no")
    assert not place.directory.exists()


def test_nobody_else_sees_the_data(tmp_path: Path) -> None:
    place = a_home(tmp_path)
    with place.locked():
        assert place.directory.stat().st_mode & 0o077 == 0


def test_an_instance_is_what_has_a_record(tmp_path: Path) -> None:
    place = a_home(tmp_path)
    place.directory.mkdir()
    (tmp_path / "stray").mkdir()
    assert place.instance() is None
    with pytest.raises(errors.LabError, match="no lab named lab") as caught:
        place.existing()
    assert caught.value.hint == "start it with: cobalt up"
    record.write(place.directory, record.Instance(name="lab", index=2, nodes=1))
    assert place.existing().index == 2
    assert home.all_homes({home.ROOT_VARIABLE: str(tmp_path)}) == [place]


def test_a_stopped_instance_says_how_to_start_it(tmp_path: Path) -> None:
    place = a_home(tmp_path, "second")
    place.directory.mkdir()
    record.write(place.directory, record.Instance(name="second", index=2, nodes=1))
    with pytest.raises(errors.LabError, match="is stopped") as caught:
        place.running()
    assert caught.value.hint == "start it with: cobalt up --name second"


def test_what_a_newer_release_wrote_does_not_hinder_this_one(tmp_path: Path) -> None:
    written = {"name": "lab", "index": 1, "nodes": 3, "colour": "blue"}
    (tmp_path / record.FILE).write_text(json.dumps(written))
    assert record.read(tmp_path) == record.Instance(name="lab", index=1, nodes=3)
