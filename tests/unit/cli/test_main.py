import subprocess
import sys

import pytest

from cobaltcore.cli import main


@pytest.mark.parametrize(
    ("typed", "parsed"),
    [
        (["kubectl", "get", "pods"], ["kubectl", "--", "get", "pods"]),
        (["kubectl", "-n", "a", "get"], ["kubectl", "--", "-n", "a", "get"]),
        (["kubectl", "--name", "b", "-A"], ["kubectl", "--name", "b", "--", "-A"]),
        (["--debug", "kubectl", "--name=b", "x"], ["--debug", "kubectl", "--name=b", "--", "x"]),
        (["kubectl"], ["kubectl", "--"]),
    ],
)
def test_options_for_another_program_are_not_parsed(typed: list[str], parsed: list[str]) -> None:
    assert main._shielded(typed, ["--name"]) == parsed


def test_a_command_does_not_import_the_others() -> None:
    script = (
        "import sys; from cobaltcore.cli import main; main.commands('kubectl');"
        "print(*(name for name in sys.modules if '.commands.' in name))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["cobaltlab.commands.kubectl"]


def test_help_lists_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main.main(["--help"])
    assert {"up", "down", "status", "kubectl"} <= set(capsys.readouterr().out.split())


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main.main(["fly"])
    assert caught.value.code == 2
    assert "fly" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["crds"], ["--help"]])
def test_a_closed_pipe_ends_a_command_silently(arguments: list[str]) -> None:
    """As with `cobalt crds | head`, at the latest when Python writes out what is left."""
    command = [sys.executable, "-m", "cobaltcore.cli.main", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        assert started.stdout
        assert started.stderr
        started.stdout.close()
        assert started.stderr.read() == b""
    assert started.returncode == 141
