from pathlib import Path

import pytest

from cobaltcore.lab import limits

INSTANCES = "fs/inotify/max_user_instances"


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    for name, least in limits.LEAST.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{least * 2}\n")
    return tmp_path


def test_limits_that_are_high_enough_are_left_alone(settings: Path) -> None:
    assert limits.too_low(settings) == {}
    limits.raise_to_need(settings)
    assert (settings / INSTANCES).read_text() == "16384\n"


def test_a_low_limit_is_raised(settings: Path) -> None:
    (settings / INSTANCES).write_text("128\n")
    assert limits.too_low(settings) == {INSTANCES: 128}
    limits.raise_to_need(settings)
    assert limits.too_low(settings) == {}


def test_a_limit_that_the_kernel_does_not_have_is_no_problem(settings: Path) -> None:
    (settings / INSTANCES).unlink()
    assert limits.too_low(settings) == {}
