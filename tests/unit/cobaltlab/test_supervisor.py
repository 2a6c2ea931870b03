from pathlib import Path

import pytest

from cobaltlab import supervisor


@pytest.mark.parametrize(
    ("command", "directory"),
    [
        (["python", "-m", "cobaltlab.supervisor", "/labs/a"], "/labs/a"),
        (["python", "-m", "cobaltlab.storage", "/labs/a"], "/labs/a"),
        (["python", "-m", "cobaltlab.init", "/labs/a/nodes/n/node.json"], "/labs/a"),
        (["python", "-m", "http.server", "/labs/a"], None),
        (["/pause"], None),
        ([""], None),
    ],
)
def test_the_state_directory_is_read_from_the_command_line(
    tmp_path: Path, command: list[str], directory: str | None
) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cmdline").write_text("\0".join([*command, ""]))

    found = supervisor.directory_of(7, tmp_path)

    assert found == (Path(directory) if directory else None)


def test_an_ended_process_has_no_state_directory(tmp_path: Path) -> None:
    assert supervisor.directory_of(7, tmp_path) is None
