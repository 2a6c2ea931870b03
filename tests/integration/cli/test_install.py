"""`cobalt install` and `cobalt uninstall` in a real API server, where no pod ever runs."""

from collections.abc import Iterator

import pytest
import yaml

from cobaltcore.cli import main
from cobaltcore.cli.releases import INVENTORY
from cobaltcore.engine.diagnosis import preflight
from tests.support import objects, structural
from tests.support.control_plane import ControlPlaneHarness

NAMESPACE = "platform"
LABEL = ("-l", "c5c3.io/platform", "-o", "name")


@pytest.fixture(scope="module")
def bare() -> Iterator[ControlPlaneHarness]:
    """An API server without any CRD."""
    with ControlPlaneHarness() as plane:
        yield plane


@pytest.fixture
def cobalt(bare: ControlPlaneHarness) -> Iterator["Cobalt"]:
    found = Cobalt(bare)
    yield found
    found("uninstall")


class Cobalt:
    """Runs a command for that API server; returns its exit code."""

    def __init__(self, plane: ControlPlaneHarness) -> None:
        self.plane = plane
        self.place = ("--kubeconfig", str(plane.kubeconfig()), "--namespace", NAMESPACE)

    def __call__(self, verb: str, *arguments: str) -> int:
        return main.main([verb, *self.place, *arguments])

    def install(self, *arguments: str) -> int:
        """Without waiting for pods."""
        return self("install", "--skip-preflight", "--quiet", "--timeout=0.1", *arguments)

    def pods_get_ready(self) -> None:
        """Report what the controllers of Deployments would."""
        found = yaml.safe_load(
            self.plane.kubectl("get", "deployments", "-n", NAMESPACE, "-o", "yaml")
        )
        for each in found["items"]:
            count = each["spec"]["replicas"]
            status = {
                "observedGeneration": each["metadata"]["generation"],
                "replicas": count,
                "readyReplicas": count,
                "updatedReplicas": count,
                "availableReplicas": count,
            }
            each["status"] = status
            text = yaml.safe_dump(each)
            self.plane.kubectl("replace", "--subresource=status", "-f", "-", input=text)


def test_everything_that_is_missing_is_printed_and_nothing_is_changed(
    cobalt: Cobalt, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cobalt("install") == 1
    printed = capsys.readouterr()
    for each in preflight.THIRD_PARTIES:
        assert each.program in printed.out
        assert f"fix: {each.command}" in printed.out
    assert "✗ storage" in printed.out
    assert "✗ hypervisors" in printed.out
    assert "✓ permissions" in printed.out
    assert "--skip-preflight" in printed.err
    assert "platform" not in cobalt.plane.kubectl("get", "namespaces", "-o", "name")


def test_missing_permissions_are_listed(
    bare: ControlPlaneHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    guest = str(bare.kubeconfig("guest"))
    assert main.main(["install", "--kubeconfig", guest]) == 1
    line = next(e for e in capsys.readouterr().out.splitlines() if "✗ permissions" in e)
    for resource in ("customresourcedefinitions", "deployments", "clusterroles"):
        assert f" {resource}" in line


def test_operators_are_installed_upgraded_pruned_and_removed_with_data_kept(
    cobalt: Cobalt, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl = cobalt.plane.kubectl
    assert cobalt.install() == 1
    assert "0/2 pods" in capsys.readouterr().err
    cobalt.pods_get_ready()
    assert cobalt.install() == 0
    accounts = kubectl("get", "serviceaccounts", "-n", NAMESPACE, *LABEL)
    assert "serviceaccount/cobalt-keystone" in accounts.splitlines()
    example = next(each for each in structural.examples() if each["kind"] == "Keystone")
    namespace = cobalt.plane.create_namespace()
    kept = objects.moved(example, name="kept", namespace=namespace)
    kubectl("apply", "-f", "-", input=yaml.safe_dump(kept))

    assert cobalt("install", "--skip-preflight", "--dry-run") == 0
    assert capsys.readouterr().out == "nothing to change\n"
    change = ("--set", "operators.ovn.enabled=false", "--set", "logLevel=DEBUG")
    assert cobalt("install", "--skip-preflight", "--dry-run", *change) == 0
    printed = capsys.readouterr().out
    assert f"delete Deployment 'cobalt-ovn' in '{NAMESPACE}'" in printed
    assert f"change Deployment 'cobalt-nova' in '{NAMESPACE}'" in printed
    assert "ServiceAccount 'cobalt-nova'" not in printed

    assert cobalt.install(*change) == 1
    assert "cobalt-ovn" not in kubectl("get", "deployments,clusterroles", "-A", *LABEL)

    assert cobalt("uninstall", "--dry-run") == 0
    assert "delete ClusterRole 'cobalt:operator:nova'" in capsys.readouterr().out
    assert cobalt("uninstall") == 0
    everything = "deployments,services,serviceaccounts,roles,rolebindings"
    assert kubectl("get", everything, "-n", NAMESPACE, *LABEL) == ""
    assert kubectl("get", "clusterroles,clusterrolebindings", *LABEL) == ""
    assert INVENTORY not in kubectl("get", "configmaps", "-n", NAMESPACE, "-o", "name")
    assert "kept" in kubectl("get", "keystones.keystone.openstack.c5c3.io", "-n", namespace)


def test_what_is_not_there_cannot_be_uninstalled(
    cobalt: Cobalt, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cobalt("uninstall") == 1
    assert "helm uninstall" in capsys.readouterr().err


def test_a_release_of_helm_is_left_alone(
    cobalt: Cobalt, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cobalt.install() == 1
    note = "meta.helm.sh/release-name=theirs"
    cobalt.plane.kubectl("annotate", "deployment", "-n", NAMESPACE, "cobalt-nova", note)
    capsys.readouterr()
    assert cobalt.install() == 1
    assert "helm upgrade theirs" in capsys.readouterr().err
