from pathlib import Path

import pytest

from cobaltlab import sysctl

INSTANCES = "fs/inotify/max_user_instances"


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    for name, least in sysctl.MINIMUM.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{least * 2}\n")
    return tmp_path


def test_sufficient_limits_are_unchanged(settings: Path) -> None:
    assert sysctl.too_low(settings) == {}
    sysctl.raise_limits(settings)
    assert (settings / INSTANCES).read_text() == "16384\n"


def test_a_low_limit_is_raised(settings: Path) -> None:
    (settings / INSTANCES).write_text("128\n")
    assert sysctl.too_low(settings) == {INSTANCES: 128}
    sysctl.raise_limits(settings)
    assert sysctl.too_low(settings) == {}


def test_a_limit_unknown_to_the_kernel_is_ignored(settings: Path) -> None:
    (settings / INSTANCES).unlink()
    assert sysctl.too_low(settings) == {}
