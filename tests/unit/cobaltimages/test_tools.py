"""The scripts that build steps run, on small trees."""

import importlib.util
import marshal
import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

from cobaltimages import sources

TOOLS = sources.find().tools
SITE_PACKAGES = Path("lib/python3.11/site-packages")
PATCH = """\
From: someone
Subject: [PATCH] Change a word

---
diff --git a/releasenotes/notes/word.yaml b/releasenotes/notes/word.yaml
new file mode 100644
--- /dev/null
+++ b/releasenotes/notes/word.yaml
@@ -0,0 +1 @@
+fixes: [word]
diff --git a/thing/module.py b/thing/module.py
--- a/thing/module.py
+++ b/thing/module.py
@@ -1,2 +1,2 @@
-WORD = "old"
+WORD = "new"
 OTHER = 1
diff --git a/thing/tests/test_module.py b/thing/tests/test_module.py
--- a/thing/tests/test_module.py
+++ b/thing/tests/test_module.py
@@ -1 +1 @@
-old
+new
diff --git a/etc/thing/thing.conf b/etc/thing/thing.conf
--- a/etc/thing/thing.conf
+++ b/etc/thing/thing.conf
@@ -1 +1 @@
-word = old
+word = new
"""
PATCH += "-- \n2.39.5\n"


def run(tool: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONHASHSEED"}
    return subprocess.run(
        [sys.executable, TOOLS / tool, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    """A package with a module, unit tests, plug-ins and configuration, as uv installs it."""
    packages = tmp_path / "stage" / SITE_PACKAGES
    files = {
        "thing/__init__.py": "",
        "thing/module.py": 'WORD = "old"\nOTHER = 1\n',
        "thing/tests/__init__.py": "",
        "thing/tests/test_module.py": "old\n",
        "thing-1.0.dist-info/METADATA": "Name: thing\nVersion: 1.0\n",
        "thing-1.0.dist-info/RECORD": (
            "thing/__init__.py,,\nthing/module.py,,\n"
            "thing/tests/__init__.py,,\nthing/tests/test_module.py,,\n"
        ),
        "thing-1.0.dist-info/entry_points.txt": (
            "[plugins]\nreal = thing.module:WORD\nfake = thing.tests.fakes:Fake\n"
        ),
    }
    for name, text in files.items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(text)
    settings = tmp_path / "stage" / "etc" / "thing"
    settings.mkdir(parents=True)
    (settings / "thing.conf").write_text("word = old\n")
    return tmp_path / "stage"


@pytest.fixture
def patches(tmp_path: Path) -> Path:
    return tmp_path / "patches"


def add_patch(patches: Path, text: str, *, component: str = "thing", release: str = "9") -> None:
    directory = patches / component / release
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "0001-word.patch").write_text(text)


def test_a_patch_changes_modules_and_configuration_and_skips_what_is_not_installed(
    stage: Path, patches: Path
) -> None:
    add_patch(patches, PATCH)

    done = run("apply-patches", stage, patches, "9")

    assert done.returncode == 0, done.stderr
    assert 'WORD = "new"' in (stage / SITE_PACKAGES / "thing" / "module.py").read_text()
    assert (stage / "etc" / "thing" / "thing.conf").read_text() == "word = new\n"
    assert not (stage / SITE_PACKAGES / "releasenotes").exists()


def test_patches_of_other_releases_and_other_packages_are_left_alone(
    stage: Path, patches: Path
) -> None:
    add_patch(patches, PATCH, release="8")
    add_patch(patches, PATCH, component="absent")

    done = run("apply-patches", stage, patches, "9")

    assert done.returncode == 0, done.stderr
    assert 'WORD = "old"' in (stage / SITE_PACKAGES / "thing" / "module.py").read_text()


def test_a_patch_that_does_not_fit_stops_the_build_and_names_the_file(
    stage: Path, patches: Path
) -> None:
    add_patch(patches, PATCH.replace('-WORD = "old"', '-WORD = "else"'))

    done = run("apply-patches", stage, patches, "9")

    assert done.returncode
    assert "does not apply to thing/module.py" in done.stderr


def test_a_patch_without_an_installed_file_stops_the_build(stage: Path, patches: Path) -> None:
    add_patch(patches, PATCH.split("diff --git a/thing/module.py")[0])

    done = run("apply-patches", stage, patches, "9")

    assert "changes nothing that is installed" in done.stderr


def test_unit_tests_go_with_every_mention_of_them(stage: Path) -> None:
    done = run("drop-tests", stage)

    metadata = stage / SITE_PACKAGES / "thing-1.0.dist-info"
    assert done.returncode == 0, done.stderr
    assert not (stage / SITE_PACKAGES / "thing" / "tests").exists()
    assert (metadata / "RECORD").read_text() == "thing/__init__.py,,\nthing/module.py,,\n"
    assert "fake" not in (metadata / "entry_points.txt").read_text()
    assert "real" in (metadata / "entry_points.txt").read_text()


def test_byte_code_is_equal_whatever_the_file_times(stage: Path) -> None:
    module = stage / SITE_PACKAGES / "thing" / "module.py"
    results = []
    for time in (1_000_000_000, 2_000_000_000):
        os.utime(module, (time, time))
        assert run("compile-tree", stage, "/final").returncode == 0
        (compiled,) = (module.parent / "__pycache__").glob("module.*.pyc")
        results.append(compiled.read_bytes())

    assert results[0] == results[1]
    assert marshal.loads(results[0][16:]).co_filename == f"/final/{SITE_PACKAGES}/thing/module.py"


def test_frozen_byte_code_is_used_after_the_file_times_changed(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("VALUE = 1\n")
    compiled = Path(py_compile.compile(str(module)) or "")

    done = run("freeze-bytecode", tmp_path)
    os.utime(module, (0, 0))

    assert done.returncode == 0, done.stderr
    flags = int.from_bytes(compiled.read_bytes()[4:8], "little")
    assert flags == 0b01
    spec = importlib.util.spec_from_file_location("module", module)
    assert spec is not None
    assert spec.loader is not None
    code = spec.loader.get_code("module")  # type: ignore[attr-defined]
    assert code.co_consts[0] == 1


def test_byte_code_without_its_source_is_removed(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("VALUE = 1\n")
    compiled = Path(py_compile.compile(str(module)) or "")
    module.unlink()

    run("freeze-bytecode", tmp_path)

    assert not compiled.exists()


def test_every_image_has_a_check_and_a_first_line_that_describes_it() -> None:
    others = {sources.TOOLS, sources.CHECKS}
    folders = [path for path in TOOLS.parent.iterdir() if path.name not in others]

    for folder in folders:
        assert (folder / "check").read_text().startswith("# "), folder
        assert (folder / "Containerfile").read_text().startswith("# "), folder


def test_containerfiles_name_no_release() -> None:
    releases = sources.find().releases()

    for path in TOOLS.parent.glob("*/Containerfile"):
        for release in releases:
            assert release not in path.read_text(), path
