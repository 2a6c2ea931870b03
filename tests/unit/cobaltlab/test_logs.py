from pathlib import Path

from cobaltimages import logs


def test_error_lines_are_preferred(tmp_path: Path) -> None:
    log = tmp_path / "kubelet.log"
    log.write_text(
        "I0101 all is well\n"
        "E0101 the disk is full\n"
        'time="now" level=error msg="no"\n'
        '{"level":"fatal","msg":"no"}\n' + "I0101 again\n" * 50
    )
    assert logs.relevant(log) == [
        "E0101 the disk is full",
        'time="now" level=error msg="no"',
        '{"level":"fatal","msg":"no"}',
    ]


def test_without_errors_the_last_lines_are_used(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("".join(f"line {n}\n" for n in range(100)))
    assert logs.relevant(log, lines=2) == ["line 98", "line 99"]


def test_an_excerpt_names_the_files_with_lines(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("it failed\n")
    text = logs.excerpt([tmp_path / "a.log", tmp_path / "missing.log"])
    assert text == f"{tmp_path}/a.log:\n  it failed"
