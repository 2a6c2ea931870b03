from pathlib import Path

import pytest

from tools import check_words

# Built from parts, so that this file passes the check.
OLD_WORD = "be" + "side"


def complaints(root: Path, name: str, text: str) -> list[str]:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return list(check_words.complaints(root, [Path(name)]))


@pytest.mark.parametrize(
    "text",
    [
        f"a program {OLD_WORD} another\n",
        f"{OLD_WORD.upper()} = 1\n",
        f"def test_{OLD_WORD}_another() -> None: ...\n",
        f"class {OLD_WORD.title()}: ...\n",
    ],
)
def test_a_word_is_found_in_prose_and_identifiers(tmp_path: Path, text: str) -> None:
    (found,) = complaints(tmp_path, "src/a.py", f"\n{text}")
    assert found.startswith("src/a.py:2: ")
    assert found.endswith("say: next to, sidecar, in parallel with")


def test_a_word_is_found_in_a_file_name(tmp_path: Path) -> None:
    (found,) = complaints(tmp_path, f"src/{OLD_WORD}_a.py", "")
    assert "in the file name" in found


@pytest.mark.parametrize(
    "text", ["a name_" + "server", "a name " + "servers", "a name-" + "server"]
)
def test_words_of_a_term_may_be_joined(tmp_path: Path, text: str) -> None:
    assert len(complaints(tmp_path, "docs/a.md", text)) == 1


@pytest.mark.parametrize("text", [f"{OLD_WORD}s that", "nameserver 10.96.0.10", "recommended"])
def test_longer_words_are_accepted(tmp_path: Path, text: str) -> None:
    assert complaints(tmp_path, "docs/a.md", text) == []


@pytest.mark.parametrize(
    "text",
    [
        "gi" + "ven = spec.tls",
        "if gi" + "ven is None:",
        "the sw" + "itch of a node",
        "Not" + "Yet",
    ],
)
def test_everyday_words_for_terms_are_found(tmp_path: Path, text: str) -> None:
    assert len(complaints(tmp_path, "src/a.py", text)) == 1


@pytest.mark.parametrize(
    "text", ["from hypothesis import given", "@given(values)", "no name is given", "switch-over"]
)
def test_the_same_words_with_their_usual_meaning_are_accepted(tmp_path: Path, text: str) -> None:
    assert complaints(tmp_path, "src/a.py", text) == []


def test_all_folders_and_pages_that_people_read_are_checked() -> None:
    checked = {path.parts[0] for path in check_words.files(check_words.ROOT)}
    assert {"README.md", "CONTRIBUTING.md", "images", "releases", "tools", "src"} <= checked
