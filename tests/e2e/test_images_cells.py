"""Agents of Nova that map cells and hypervisors, with the Nova of the image and SQLite."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from cobaltimages import store
from tests.support import built_images

PROGRAM = Path(built_images.__file__).parent / "nova_cells.py"
PYTHON = "/var/lib/openstack/bin/python"
SECTIONS = {
    "DEFAULT": {"transport_url": "fake://", "state_path": "/tmp"},
    "oslo_concurrency": {"lock_path": "/tmp"},
    "oslo_messaging_notifications": {"driver": "noop"},
    "api_database": {"connection": "sqlite:////tmp/api.sqlite"},
    "database": {"connection": "sqlite:////tmp/cell1.sqlite"},
}


@pytest.fixture(scope="module")
def seen(kept: store.Store, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What the program in the image found, step by step."""
    root = built_images.Root.unpack(kept, "nova", tmp_path_factory.mktemp("nova") / "root")
    lines = [
        line
        for section, options in SECTIONS.items()
        for line in (f"[{section}]", *(f"{k} = {v}" for k, v in options.items()))
    ]
    (root.path / "etc/nova/nova.conf").write_text("\n".join(lines))
    shutil.copy(PROGRAM, root.path / "tmp/program.py")
    (root.path / "tmp").chmod(0o1777)
    path = "PATH=/var/lib/openstack/bin:/usr/bin:/bin"
    command = ["/usr/bin/env", path, "PYTHONPATH=/usr/lib/cobalt-agent", PYTHON, "/tmp/program.py"]
    done = subprocess.run(root.command(command), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return found


EXPECTED = {
    "disabled": {"cell1": False, "cell2": True},
    "enabled again": {"cell1": False, "cell2": False},
    "mapped": {"cell1": ["host"], "cell2": [], "of": "cell1"},
    "not reported": "nova-compute has not reported in cell cell2; see the logs of its pod",
    "still runs": "its nova-compute of cell cell1 still runs",
    "moved": {"cell1": [], "cell2": ["host"], "of": "cell2"},
    "moved back": {"cell1": ["host"], "cell2": [], "of": "cell1"},
    "has servers": (
        "it has 1 servers in cell cell1: migrate or delete them, or label the node "
        "nova.c5c3.io/cell=cell1 again"
    ),
    "removed and added again": {"cell1": ["host"], "cell2": [], "of": "cell1"},
}


@pytest.mark.parametrize("step", EXPECTED)
def test_cells_and_hosts_are_as_wanted(seen: dict[str, object], step: str) -> None:
    assert seen[step] == EXPECTED[step]
