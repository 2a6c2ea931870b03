from pathlib import Path

from tools import check_shape


def complaints(root: Path, name: str, text: str) -> list[str]:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return list(check_shape.complaints(root, [Path(name)]))


def test_long_files_are_named_and_tests_may_be_longer(tmp_path: Path) -> None:
    text = "x\n" * 450
    assert complaints(tmp_path, "src/a.py", text) == [
        "src/a.py: 450 lines, at most 400: split it by noun"
    ]
    assert complaints(tmp_path, "tests/a.py", text) == []


def test_long_pages_and_banned_words_are_named(tmp_path: Path) -> None:
    assert complaints(tmp_path, "docs/a.md", "x\n" * 301)
    assert complaints(tmp_path, "docs/b.md", "You simply run it.\n") == [
        "docs/b.md:1: say it without 'simply'"
    ]
