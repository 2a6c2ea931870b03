"""Tempest against a lab's cloud: selected tests, run in the toolbox pod, with results that are kept.

The pod is attached to the external network while tests run, so that they reach servers at their
floating addresses.
"""

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from cobaltlab import network
from cobaltlab.cloud import external
from tests.support.cloud import NAMESPACE, Cloud
from tests.support.lab import eventually

HERE = Path(__file__).parents[1] / "e2e/cloud"
PROGRAM = HERE / "agents/run_tempest.py"
EXCLUSIONS = HERE / "tempest-exclusions.txt"
IN_POD = "/tmp/run_tempest.py"
ADDRESS = "172.24.4.2/24"
"""Address of the pod on the external network, outside of the range of floating addresses."""
TOOLBOX = ("-n", NAMESPACE, "deployment/openstack-client", "-c", "client")
SLICES = {
    **{each: rf"^tempest\.api\.{each}\." for each in ("identity", "image", "network", "volume")},
    "servers": r"^tempest\.api\.compute\.(servers|volumes)\.",
    "compute": r"^tempest\.api\.compute\.(?!(servers|volumes)\.)",
    "scenario": r"^tempest\.scenario\.",
}
"""Parts of Tempest that can be run one by one."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a test, or of the set-up of a class."""

    test: str
    result: Literal["passed", "failed", "skipped", "lost"]
    seconds: float
    text: str
    """The reason of a skipped test, the end of the traceback of a failed one."""


@dataclass
class Results:
    """Results of tests, kept in a file so that the rest can be run later."""

    file: Path | None = None
    found: list[Result] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.file and self.file.exists():
            # An interruption may have cut the last line.
            content = self.file.read_text()
            whole = content[: content.rfind("\n") + 1]
            self.file.write_text(whole)
            self.found.extend(msgspec.json.Decoder(Result).decode_lines(whole))

    def add(self, result: Result) -> None:
        """Keep a result; a lost test is run again by the next run."""
        if result.result == "lost":
            return
        self.found.append(result)
        if self.file:
            with self.file.open("ab") as file:
                file.write(msgspec.json.encode(result) + b"\n")

    def missing(self, tests: Iterable[str]) -> list[str]:
        """Tests without a result of their own or of their class."""
        known = {each.test for each in self.found}
        return [each for each in tests if each not in known and _class_of(each) not in known]

    def failed(self) -> dict[str, str]:
        """What failed, each with the end of its traceback."""
        return {each.test: each.text for each in self.found if each.result == "failed"}

    def count(self, result: str) -> int:
        return sum(each.result == result for each in self.found)

    def counts(self) -> str:
        seconds = sum(each.seconds for each in self.found)
        numbers = ", ".join(
            f"{self.count(each)} {each}" for each in ("passed", "failed", "skipped")
        )
        return f"{numbers} ({seconds / 60:.0f} min of tests)"


def run(cloud: Cloud, *patterns: str, login: bool = True, file: Path | None = None) -> Results:
    """Run selected tests that have no result in the file yet; `login`: they log in to servers."""
    found = Results(file)
    cloud.lab.kubectl("exec", "-i", *TOOLBOX, "--", "tee", IN_POD, input=PROGRAM.read_text())
    with _on_external_network(cloud):
        tests = selected(cloud, *patterns)
        if remaining := found.missing(tests):
            for each in _results(cloud, remaining, login):
                found.add(each)
    if lost := found.missing(tests):
        raise AssertionError(
            f"{len(lost)} of {len(tests)} tests have no result, for example {lost[0]}: "
            "Tempest ended early; the next run continues"
        )
    return found


def selected(cloud: Cloud, *patterns: str) -> list[str]:
    """Names of the tests that match, without the excluded ones."""
    command = ("exec", "-i", *TOOLBOX, "--", "python3", IN_POD, "list", *patterns)
    return cloud.lab.kubectl(*command, input=EXCLUSIONS.read_text()).splitlines()


def _results(cloud: Cloud, tests: Sequence[str], login: bool) -> Iterator[Result]:
    """Run tests; their results as they come."""
    kubectl = str(cloud.lab.state_dir.programs / "kubectl")
    program = ["python3", IN_POD, "run", "ssh" if login else "none"]
    command = [kubectl, "exec", "-i", *TOOLBOX, "--", *program]
    environment = {**os.environ, "KUBECONFIG": str(cloud.lab.state_dir.kubeconfig)}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n".join(tests))
        process.stdin.close()
        for line in process.stdout:
            if line.startswith("{"):
                yield msgspec.json.decode(line, type=Result)


@contextmanager
def _on_external_network(cloud: Cloud) -> Iterator[None]:
    """Attach the network namespace of the toolbox pod to the external network."""
    index = cloud.lab.state_dir.require_record().index
    veth = f"{network.external_bridge(index)}p"
    namespace = cloud.lab.kubectl(
        "exec", *TOOLBOX, "--", "readlink", "/proc/self/ns/net"
    ).strip()  # fmt: skip
    pid = eventually(lambda: _process_in(cloud, namespace), f"a process in {namespace}")
    external.attach(index, pid, veth=veth, address=ADDRESS)
    try:
        yield
    finally:
        network.ip_batch([f"link del {veth}"], check=False)


def _process_in(cloud: Cloud, namespace: str) -> int:
    """A process of the lab in a network namespace; 0 if there is none."""
    for pid in cloud.lab.processes():
        try:
            if str(Path(f"/proc/{pid}/ns/net").readlink()) == namespace:
                return pid
        except OSError:
            continue
    return 0


def _class_of(test: str) -> str:
    """The name under which a class is skipped or fails as a whole."""
    return f"setUpClass ({test.partition('[')[0].rpartition('.')[0]})"
