"""Errors of `cobalt up` and `down` name cause and fix, and leave nothing behind."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cobaltlab import network, statedir, subnets
from tests.support import traces
from tests.support.lab import CommandFailed, Lab

NOBODY = 65534


@contextmanager
def unchanged_machine(lab: Lab) -> Iterator[None]:
    """A failure in the `with` block must leave nothing behind."""
    before = traces.take(lab.name)
    yield
    assert traces.take(lab.name).added_since(before) == set()


def test_no_root(other_lab: Lab) -> None:
    # The user changes last, because only root may be able to read the Python installation.
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
    assert not other_lab.state_dir.directory.exists()


def test_no_disk(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(small)], check=True)
    try:
        lab = Lab(small)
        with unchanged_machine(lab), pytest.raises(CommandFailed) as caught:
            lab.up()
        assert f"{lab.state_dir.directory} has 0.1 GB free" in str(caught.value)
        assert "free disk space" in str(caught.value)
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_addresses_in_use(other_lab: Lab) -> None:
    other_lab.up("--nodes", "1")
    other_lab.down()
    block = subnets.Subnets(other_lab.state_dir.require_record().index).block
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


def test_addresses_of_foreign_routes_are_avoided(other_lab: Lab) -> None:
    free = next(
        index
        for index in range(len(subnets.BLOCKS))
        if index not in {owner.index for owner in network.bridge_owners()}
    )
    foreign = str(subnets.Subnets(free).pod_cidr(7))
    subprocess.run(["ip", "route", "add", foreign, "dev", "lo"], check=True)
    try:
        other_lab.up("--nodes", "1")
        assert other_lab.state_dir.require_record().index != free
    finally:
        subprocess.run(["ip", "route", "del", foreign, "dev", "lo"], check=True)


def test_all_unmet_requirements_are_listed_at_once(other_lab: Lab) -> None:
    """In a mount namespace that hides cgroups and packages."""
    script = (
        "mount -t tmpfs tmpfs /sys/fs/cgroup && mount -t tmpfs tmpfs /usr/lib/cni && "
        "mount --bind /dev/null /usr/sbin/runc && "
        f"exec {sys.executable} -m cobaltcore.cli.main up --name {other_lab.name}"
    )
    with unchanged_machine(other_lab):
        done = _in_mount_namespace(script, other_lab)
    assert done.returncode == 1
    assert "2 requirements are not met" in done.stderr
    assert "controllers cpu, cpuacct" in done.stderr
    assert "containernetworking-plugins" in done.stderr
    assert not other_lab.state_dir.directory.exists()


def test_no_network_for_packages(other_lab: Lab) -> None:
    """Without a route to a mirror and with a missing package: shows the output of apt and a hint."""
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
    assert not other_lab.state_dir.directory.exists()


def test_a_concurrent_command_on_the_same_lab_fails(other_lab: Lab) -> None:
    with (
        other_lab.state_dir.locked(),
        pytest.raises(CommandFailed, match="another cobalt command"),
    ):
        other_lab.up()


def test_an_unknown_lab_is_named(other_lab: Lab) -> None:
    with pytest.raises(CommandFailed, match=f'lab "{other_lab.name}" does not exist'):
        other_lab.cobalt("kubectl", "get", "nodes")


def test_a_start_that_fails_shows_the_logs_and_can_be_repeated(other_lab: Lab) -> None:
    other_lab.up("--nodes", "1")
    other_lab.down()
    data = other_lab.state_dir.node("control-plane") / "etcd"
    shutil.move(data, other_lab.root / "etcd")
    data.write_text("not a directory")
    with pytest.raises(CommandFailed) as caught:
        up_with_timeout(other_lab, seconds=15)
    message = str(caught.value)
    assert "the API server did not become ready within 15 s" in message
    assert str(other_lab.state_dir.node("control-plane") / "log" / "etcd.log") in message
    data.unlink()
    shutil.move(other_lab.root / "etcd", data)
    other_lab.up()
    assert other_lab.ready_nodes() == {"control-plane"}


def up_with_timeout(lab: Lab, *, seconds: int) -> None:
    """`cobalt up` with a shorter timeout."""
    script = (
        "import sys; from datetime import timedelta; from cobaltlab import bootstrap;"
        f"bootstrap.TIMEOUT = timedelta(seconds={seconds});"
        "from cobaltcore.cli import main;"
        "sys.exit(main.main(['up', '--until', 'cluster', '--name', sys.argv[1]]))"
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
        env={**os.environ, statedir.ROOT_VARIABLE: str(lab.root)},
        capture_output=True,
        text=True,
        check=False,
    )
