"""KWOK plays pods, CoreDNS answers names."""

from ipaddress import IPv4Address
from pathlib import Path

from cobaltlab import dnsquery, kubebuild, process
from tests.support.control_plane import ControlPlaneHarness
from tests.support.ports import ReservedPort

LOOPBACK = IPv4Address("127.0.0.1")


def test_deployment_becomes_available_on_simulated_nodes(
    simulated_control_plane: ControlPlaneHarness,
) -> None:
    namespace = simulated_control_plane.create_namespace()
    simulated_control_plane.kubectl(
        "create", "deployment", "web", "--image=any", "--replicas=4", "-n", namespace
    )

    simulated_control_plane.kubectl(
        "rollout", "status", "deployment/web", "--timeout=120s", "-n", namespace
    )

    nodes = simulated_control_plane.kubectl(
        "get", "pods", "-n", namespace, "-o", "jsonpath={..spec.nodeName}"
    )
    assert set(nodes.split()) == {"simulated-0", "simulated-1"}


def test_job_completes_on_simulated_nodes(simulated_control_plane: ControlPlaneHarness) -> None:
    namespace = simulated_control_plane.create_namespace()
    simulated_control_plane.kubectl("create", "job", "once", "--image=any", "-n", namespace)

    simulated_control_plane.kubectl(
        "wait", "job/once", "--for=condition=complete", "--timeout=120s", "-n", namespace
    )


def test_namespace_is_emptied_on_deletion(simulated_control_plane: ControlPlaneHarness) -> None:
    namespace = simulated_control_plane.create_namespace()
    simulated_control_plane.kubectl("create", "deployment", "web", "--image=any", "-n", namespace)
    simulated_control_plane.kubectl(
        "rollout", "status", "deployment/web", "--timeout=120s", "-n", namespace
    )

    simulated_control_plane.kubectl("delete", "namespace", namespace, "--timeout=120s")

    assert namespace not in simulated_control_plane.kubectl("get", "namespaces")


def test_coredns_answers_for_a_service(
    control_plane: ControlPlaneHarness, namespace: str, tmp_path: Path
) -> None:
    control_plane.kubectl("create", "service", "clusterip", "db", "--tcp=3306", "-n", namespace)
    port = ReservedPort()
    server = _coredns(control_plane, tmp_path, port=port.number)
    server.start()

    def answers(service: str) -> bool:
        name = f"{service}.{namespace}.svc.cluster.local"
        return dnsquery.resolves(name, server=LOOPBACK, port=port.number)

    server.wait_until(lambda: answers("db"), within=process.STOP_GRACE * 6, what="answering")
    assert not answers("no-such-service")
    server.stop()
    port.release()


def _coredns(plane: ControlPlaneHarness, directory: Path, *, port: int) -> process.Child:
    corefile = directory / "Corefile"
    corefile.write_text(
        f"""cluster.local:{port} {{
            bind {LOOPBACK}
            errors
            kubernetes cluster.local {{
                kubeconfig {plane.kubeconfig()}
            }}
        }}"""
    )
    program = kubebuild.ensure(kubebuild.COREDNS)
    return process.Child("coredns", [program, "-conf", corefile], directory / "coredns.log")
