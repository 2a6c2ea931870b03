"""What `cobalt run` does on SIGTERM."""

import subprocess
import sys
from pathlib import Path

from tests.support.control_plane import ControlPlaneHarness

RUN = """
import atexit, sys
from cobaltcore.cli import main
atexit.register(print, "interpreter torn down", file=sys.stderr)
sys.exit(main.main(sys.argv[1:]))
"""


def test_sigterm_releases_the_lease_and_skips_the_teardown_of_the_interpreter(
    installed_crds: ControlPlaneHarness, namespace: str, tmp_path: Path
) -> None:
    arguments = ["run", "keystone", "--kubeconfig", str(installed_crds.kubeconfig())]
    arguments += ["--health-port", "0", "--leader-elect", "--namespace", namespace]
    log = tmp_path / "log"
    with log.open("w") as sink:
        process = subprocess.Popen([sys.executable, "-c", RUN, *arguments], stderr=sink)
    try:
        installed_crds.wait_until(lambda: "leading" in log.read_text(), what="leading")
        assert holder(installed_crds, namespace) != ""
    finally:
        process.terminate()
        process.wait(timeout=60)
    assert process.returncode == 0
    assert holder(installed_crds, namespace) == ""
    assert "interpreter torn down" not in log.read_text()


def holder(plane: ControlPlaneHarness, namespace: str) -> str:
    path = "-o=jsonpath={.spec.holderIdentity}"
    return plane.kubectl("get", "lease", "cobalt-keystone", "-n", namespace, path)
