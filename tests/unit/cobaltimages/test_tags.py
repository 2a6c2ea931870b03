import subprocess
from pathlib import Path

from cobaltimages import tags

COMMIT = tags.Commit(branch="stable/1.0", sha="a1b2c3d4e5f6", is_clean=True)


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", root, *identity, *arguments], check=True, capture_output=True)


def test_an_image_is_named_by_version_patches_release_branch_and_commit() -> None:
    assert tags.tags("28.0.0", release="2025.2", patches=1, commit=COMMIT) == [
        "28.0.0",
        "28.0.0-p1",
        "stable-2025.2",
        "stable-1.0",
        "a1b2c3d",
        "28.0.0-p1-stable-1.0-a1b2c3d",
    ]


def test_an_image_without_patches_has_no_patch_revision() -> None:
    found = tags.tags("28.0.0", release="2025.2", patches=0, commit=COMMIT)

    assert "28.0.0-p0" not in found
    assert "28.0.0-p0-stable-1.0-a1b2c3d" in found


def test_outside_of_git_there_are_no_names_of_commits(tmp_path: Path) -> None:
    assert tags.commit(tmp_path, ["images"]) is None
    assert tags.tags("28.0.0", release="2025.2", patches=0, commit=None) == [
        "28.0.0",
        "stable-2025.2",
    ]


def test_uncommitted_inputs_are_marked_and_other_changes_are_not(tmp_path: Path) -> None:
    git(tmp_path, "init", "--initial-branch=main")
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "file").write_text("one")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--message=one")

    (tmp_path / "notes").write_text("not an input")
    clean = tags.commit(tmp_path, ["images"])
    (tmp_path / "images" / "file").write_text("two")
    changed = tags.commit(tmp_path, ["images"])

    assert clean is not None
    assert clean.branch == "main"
    assert len(clean.short) == 7
    assert changed is not None
    assert changed.short == f"{clean.short}-dirty"
