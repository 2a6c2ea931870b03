"""What stands in the way of a lab is told in a sentence, and nothing is left half-made."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cobaltcore.lab import home, links, ranges
from tests.support import traces
from tests.support.lab import CommandFailed, Lab

NOBODY = 65534


@contextmanager
def unchanged_machine(lab: Lab) -> Iterator[None]:
    """Whatever fails inside must leave nothing behind."""
    before = traces.take(lab.name)
    yield
    assert traces.take(lab.name).beyond(before) == set()


def test_no_root(other_lab: Lab) -> None:
    # The change of user comes last, as Python itself may be where only root can read.
    script = (
        "import os, sys; from cobaltcore.cli import main; main.commands('up');"
        f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY});"
        "sys.exit(main.main(['up', '--name', sys.argv[1]]))"
    )
    with unchanged_machine(other_lab):
        done = subprocess.run(
            [sys.executable, "-c", script, other_lab.name],
            env={**other_lab.environment, "HOME": "/nonexistent"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "nodes need root" in done.stderr
    assert "sudo" in done.stderr
    assert "Traceback" not in done.stderr
    assert not other_lab.place.directory.exists()


def test_no_disk(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(small)], check=True)
    try:
        lab = Lab(small)
        with unchanged_machine(lab), pytest.raises(CommandFailed) as caught:
            lab.up()
        assert f"{lab.place.directory} has 0.1 GB free" in str(caught.value)
        assert "make room" in str(caught.value)
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_addresses_in_use(other_lab: Lab) -> None:
    other_lab.up("--nodes", "1")
    other_lab.down()
    block = ranges.Ranges(other_lab.place.existing().index).block
    foreign = f"{block[2**16]}/32"
    subprocess.run(["ip", "route", "add", foreign, "dev", "lo"], check=True)
    try:
        with pytest.raises(CommandFailed) as caught:
            other_lab.up()
        assert f"route to {foreign}" in str(caught.value)
        assert "remove that route" in str(caught.value)
        assert other_lab.processes() == {}
    finally:
        subprocess.run(["ip", "route", "del", foreign, "dev", "lo"], check=True)
    other_lab.up()


def test_foreign_addresses_are_kept_clear_of(other_lab: Lab) -> None:
    free = next(
        index
        for index in range(len(ranges.BLOCKS))
        if index not in {owner.index for owner in links.owners()}
    )
    foreign = str(ranges.Ranges(free).pods_of(7))
    subprocess.run(["ip", "route", "add", foreign, "dev", "lo"], check=True)
    try:
        other_lab.up("--nodes", "1")
        assert other_lab.place.existing().index != free
    finally:
        subprocess.run(["ip", "route", "del", foreign, "dev", "lo"], check=True)


def test_all_missing_things_are_listed_at_once(other_lab: Lab) -> None:
    """On a machine as this, but without control groups and packages: a namespace that hides them."""
    script = (
        "mount -t tmpfs tmpfs /sys/fs/cgroup && mount -t tmpfs tmpfs /usr/lib/cni && "
        "mount --bind /dev/null /usr/sbin/runc && "
        f"exec {sys.executable} -m cobaltcore.cli.main up --name {other_lab.name}"
    )
    with unchanged_machine(other_lab):
        done = _in_mount_namespace(script, other_lab)
    assert done.returncode == 1
    assert "2 things are missing" in done.stderr
    assert "controllers cpu, cpuacct" in done.stderr
    assert "containernetworking-plugins" in done.stderr
    assert not other_lab.place.directory.exists()


def test_no_network_for_packages(other_lab: Lab) -> None:
    """Without a route to a mirror, and without a package: what apt says is shown, with a hint."""
    script = (
        "mount -t tmpfs tmpfs /usr/lib/cni && mount -t tmpfs tmpfs /var/lib/apt/lists && "
        "mount -t tmpfs tmpfs /var/cache/apt && mount --bind /dev/null /var/lib/dpkg/status && "
        f"exec unshare --net {sys.executable} -m cobaltcore.cli.main up --yes "
        f"--name {other_lab.name}"
    )
    with unchanged_machine(other_lab):
        done = _in_mount_namespace(script, other_lab)
    assert done.returncode == 1
    assert "packages could not be installed: containernetworking-plugins" in done.stderr
    assert "Debian mirror" in done.stderr
    assert not other_lab.place.directory.exists()


def test_a_second_command_on_the_same_lab_is_refused(other_lab: Lab) -> None:
    with other_lab.place.locked(), pytest.raises(CommandFailed, match="another cobalt command"):
        other_lab.up()


def test_a_lab_that_does_not_exist_is_named(other_lab: Lab) -> None:
    with pytest.raises(CommandFailed, match=f"there is no lab named {other_lab.name}"):
        other_lab.cobalt("kubectl", "get", "nodes")


def test_a_start_that_fails_shows_the_logs_and_can_be_repeated(other_lab: Lab) -> None:
    other_lab.up("--nodes", "1")
    other_lab.down()
    data = other_lab.place.node("control-plane") / "etcd"
    shutil.move(data, other_lab.root / "etcd")
    data.write_text("not a directory")
    with pytest.raises(CommandFailed) as caught:
        run_with_limit(other_lab, seconds=15)
    message = str(caught.value)
    assert "the API server did not become ready within 15 s" in message
    assert str(other_lab.place.node("control-plane") / "log" / "etcd.log") in message
    data.unlink()
    shutil.move(other_lab.root / "etcd", data)
    other_lab.up()
    assert other_lab.ready_nodes() == {"control-plane"}


def run_with_limit(lab: Lab, *, seconds: int) -> None:
    """`cobalt up` with less patience than usual."""
    script = (
        "import sys; from datetime import timedelta; from cobaltcore.lab import addons;"
        f"addons.LIMIT = timedelta(seconds={seconds});"
        "from cobaltcore.cli import main; sys.exit(main.main(['up', '--name', sys.argv[1]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, lab.name],
        env=lab.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CommandFailed(done.stderr)


def _in_mount_namespace(script: str, lab: Lab) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
        env={**os.environ, home.ROOT_VARIABLE: str(lab.root)},
        capture_output=True,
        text=True,
        check=False,
    )
