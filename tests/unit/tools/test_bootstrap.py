from pathlib import Path

import pytest

from tools import bootstrap


def test_an_old_python_is_refused_with_the_way_out() -> None:
    with pytest.raises(bootstrap.BootstrapError, match=r"3\.11 or newer.*this is 3\.9.*PYTHON="):
        bootstrap.check_python((3, 9))


def test_uv_on_the_path_is_used(tmp_path: Path) -> None:
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text("#!/bin/sh\n")
    uv.chmod(0o755)
    assert bootstrap.find_uv(tmp_path, path=str(uv.parent)) == uv


def test_uv_that_was_fetched_before_is_used(tmp_path: Path) -> None:
    own = tmp_path / bootstrap.OWN / "bin" / "uv"
    own.parent.mkdir(parents=True)
    own.touch()
    assert bootstrap.find_uv(tmp_path, path="") == own
    own.unlink()
    assert bootstrap.find_uv(tmp_path, path="") is None


def test_the_link_points_to_the_present_uv(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).touch()
        bootstrap.link(tmp_path, tmp_path / name)
    assert (tmp_path / bootstrap.LINK).resolve() == tmp_path / "second"
