"""Nothing crosses the network in plain text, and renewed certificates are served without a failure."""

import base64
import hashlib
import json
import os
import ssl
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from cobaltlab.subnets import Subnets
from tests.support.cloud import DEMO, NAMESPACE, Cloud, requesting
from tests.support.lab import Lab, eventually

AGENTS = Path(__file__).parent / "agents"
NAMES, MEMCACHED, CEPH = 53, 11211, (3300, 6789, *range(6800, 7301))
BY_DESIGN = {NAMES, MEMCACHED, *CEPH}
"""Ports without TLS: values in memcached are encrypted, Ceph has a setting of its own."""
ENCRYPTED = {3306, 5671, 5000, 8774, 9292, 9696}
"""A server that is created connects to or talks over at least some of these."""
SERVERS = {"mariadb-tls", "rabbitmq-tls", "keystone-tls", "nova-tls", "neutron-tls", "ovn-tls"}
CAPTURED = "captured"
OTHER_LIFETIME = '{"spec":{"duration":"2000h"}}'


def inside(namespace: str, agent: str, *arguments: str) -> list[str]:
    """A command that runs an agent in a network namespace."""
    script = str(AGENTS / f"{agent}.py")
    return ["nsenter", f"--net={namespace}", sys.executable, script, *arguments]


@contextmanager
def capturing(lab: Lab, directory: Path) -> Iterator[dict[str, Counter[str]]]:
    """What crosses the nodes during the `with` block; complete after it."""
    subnets = Subnets(lab.state_dir.require_record().index)
    networks = [str(each) for each in (subnets.nodes, subnets.services, subnets.pods)]
    found = {"began": Counter[str](), "texts": Counter[str](), "packets": Counter[str]()}
    stop = directory / "stop"
    nodes = [f"/proc/{each.pid()}/ns/net" for each in lab.state_dir.node_processes()]
    readers = [
        subprocess.Popen(inside(node, "capture", str(stop), *networks), stdout=subprocess.PIPE)
        for node in nodes
    ]
    try:
        yield found
    finally:
        stop.touch()
        outputs = [json.loads(each.communicate(timeout=60)[0]) for each in readers]
    for output in outputs:
        found["packets"]["seen"] += output["packets"]
        for name in ("began", "texts"):
            found[name].update(output[name])


def is_by_design(seen: str) -> bool:
    """Whether a connection is one of those that are plain on purpose, by the ports in its text."""
    return any(int(word) in BY_DESIGN for word in seen.split()[:2] if word.isdecimal())


def test_no_plain_protocol_is_spoken_between_pods(
    lab: Lab, cloud: Cloud, tmp_path: Path, report: Callable[[str], None]
) -> None:
    with capturing(lab, tmp_path) as seen:
        like_demo = ("--flavor", DEMO, "--image", DEMO, "--network", DEMO)
        try:
            cloud.run("server", "create", *like_demo, "--wait", CAPTURED)
        finally:
            cloud.remove("server", CAPTURED)
    report(f"capture: {seen['packets']['seen']} packets, {dict(seen['began'])}")
    encrypted = {int(each.split()[0]) for each in seen["began"] if each.endswith(" tls")}
    assert encrypted & ENCRYPTED
    assert [each for each in seen["began"] if " plain " in each and not is_by_design(each)] == []
    assert [each for each in seen["texts"] if not is_by_design(each)] == []


def issued(lab: Lab) -> dict[str, str]:
    """SHA-256 of every certificate but those of CAs, by the name of its Certificate."""
    found = {}
    for each in lab.get("certificates.cert-manager.io", "-n", NAMESPACE)["items"]:
        if not each["spec"].get("isCA"):
            secret = lab.get("secret", each["spec"]["secretName"], "-n", NAMESPACE)
            pem = base64.b64decode(secret["data"]["tls.crt"]).decode()
            first = pem[: pem.index(ssl.PEM_FOOTER) + len(ssl.PEM_FOOTER)]
            der = ssl.PEM_cert_to_DER_cert(first)
            found[each["metadata"]["name"]] = hashlib.sha256(der).hexdigest()
    return found


def served(lab: Lab) -> set[str]:
    """SHA-256 of all certificates that any process of the lab serves."""
    found: set[str] = set()
    with ExitStack() as stack:
        namespaces: dict[int, int] = {}
        for pid in (
            pid for each in lab.state_dir.node_processes() for pid in lab.processes(each.name)
        ):
            # Held open, because a process may end before it is this namespace's turn.
            with suppress(FileNotFoundError):
                handle = stack.enter_context(Path(f"/proc/{pid}/ns/net").open())
                namespaces.setdefault(os.fstat(handle.fileno()).st_ino, handle.fileno())
        for each in namespaces.values():
            command = inside(f"/proc/self/fd/{each}", "served")
            answer = subprocess.run(command, capture_output=True, check=True, pass_fds=[each])
            found.update(json.loads(answer.stdout).values())
    return found


def test_no_request_fails_while_all_certificates_are_renewed(
    lab: Lab, cloud: Cloud, report: Callable[[str], None]
) -> None:
    before = issued(lab)
    in_use = served(lab)
    servers = {name for name, digest in before.items() if digest in in_use}
    assert servers >= SERVERS
    with requesting(cloud) as requests:
        for name in before:
            patch = ("--type=merge", "-p", OTHER_LIFETIME)
            lab.kubectl("patch", "certificates.cert-manager.io", name, "-n", NAMESPACE, *patch)
        eventually(
            lambda: not set(issued(lab).values()) & set(before.values()), "all are issued again"
        )
        eventually(lambda: not served(lab) & set(before.values()), "no old one is served")
    after = issued(lab)
    in_use = served(lab)
    assert {name for name, digest in after.items() if digest in in_use} == servers
    count = f"{len(before)} certificates, {len(servers)} of servers"
    report(f"renewal: {count}: {requests.sent} requests, {len(requests.failed)} failed")
    assert requests.sent > 50
    assert requests.failed == []
