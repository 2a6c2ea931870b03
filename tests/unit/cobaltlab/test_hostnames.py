"""The block of a lab in /etc/hosts."""

from pathlib import Path

import pytest

from cobaltlab import hostnames

OTHERS = "127.0.0.1 localhost\n# a remark\n10.0.0.1\tbuild.example build\n"
KEYSTONE = "keystone.openstack.svc.cluster.local"
GLANCE = "glance.openstack.svc.cluster.local"
ADDRESSES = {KEYSTONE: "100.65.0.7", GLANCE: "100.65.0.8"}


def test_all_other_lines_stay() -> None:
    text = hostnames.written(OTHERS, "lab", ADDRESSES)
    assert text.startswith(OTHERS)
    assert f"100.65.0.7 {KEYSTONE}\n" in text
    assert hostnames.removed(text, "lab") == OTHERS


def test_a_block_is_replaced_and_written_once() -> None:
    first = hostnames.written(OTHERS, "lab", ADDRESSES)
    moved = hostnames.written(first, "lab", {KEYSTONE: "100.65.0.9"})
    assert moved.count(KEYSTONE) == 1
    assert GLANCE not in moved
    assert hostnames.written(first, "lab", ADDRESSES) == first


def test_a_file_without_a_last_line_break_keeps_its_last_line() -> None:
    text = hostnames.written("127.0.0.1 localhost", "lab", ADDRESSES)
    assert text.splitlines()[0] == "127.0.0.1 localhost"


def test_names_of_another_lab_are_left_to_it() -> None:
    first = hostnames.written(OTHERS, "one", {KEYSTONE: "100.65.0.7"})
    both = hostnames.written(first, "two", {KEYSTONE: "100.69.0.7", GLANCE: "100.69.0.8"})
    assert "100.69.0.7" not in both
    assert hostnames.labs(both) == ["one", "two"]
    assert hostnames.labs(hostnames.removed(both, "one")) == ["two"]


@pytest.mark.parametrize("kept", range(1, 4))
def test_a_block_that_was_cut_off_is_removed_without_what_follows(kept: int) -> None:
    whole = hostnames.written("", "lab", ADDRESSES).splitlines(keepends=True)
    cut = "".join(whole[:kept])
    assert hostnames.removed(f"{cut}{OTHERS}", "lab") == OTHERS


def test_no_name_is_no_block() -> None:
    assert hostnames.written(OTHERS, "lab", {}) == OTHERS


def test_a_file_is_replaced_with_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text(OTHERS)
    file.chmod(0o664)
    assert hostnames.write("lab", ADDRESSES, hosts=file) == []
    assert file.stat().st_mode & 0o777 == 0o664
    assert hostnames.write("other", {KEYSTONE: "100.69.0.7"}, hosts=file) == [KEYSTONE]
    hostnames.remove("lab", hosts=file)
    assert file.read_text() == OTHERS
    assert [each.name for each in tmp_path.iterdir()] == ["hosts"]
