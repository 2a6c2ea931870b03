"""Fixtures of all tests: real control planes, started once per run when a test asks for one."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, settings

from cobaltcore.api import crd
from cobaltlab import errors
from tests.support import sample
from tests.support.control_plane import ControlPlaneHarness
from tests.support.simulated_nodes import SimulatedNodes

# How long an example takes depends on the machine, not about the code.
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlaneHarness]:
    """An API server with etcd and nothing else: objects stay as the test leaves them."""
    with _running(request, controller_manager=False) as plane:
        yield plane


@pytest.fixture(scope="session")
def managed_control_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlaneHarness]:
    """A second API server with the controller manager: garbage collection, ReplicaSets, Jobs."""
    with _running(request, controller_manager=True) as plane:
        yield plane


@pytest.fixture(scope="session")
def simulated_control_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlaneHarness]:
    """A third one, with two nodes on which pods seem to run: workloads become ready."""
    with (
        _running(request, controller_manager=True) as plane,
        SimulatedNodes(plane, count=2),
    ):
        yield plane


@pytest.fixture
def namespace(control_plane: ControlPlaneHarness) -> str:
    """A namespace of `control_plane` for this test alone."""
    return control_plane.create_namespace()


@pytest.fixture(scope="session")
def installed_crds(control_plane: ControlPlaneHarness) -> ControlPlaneHarness:
    """The API server with our kinds served."""
    control_plane.install_crds(crd.manifests())
    return control_plane


@contextmanager
def _running(
    request: pytest.FixtureRequest, *, controller_manager: bool
) -> Iterator[ControlPlaneHarness]:
    reason = ""
    try:
        plane = ControlPlaneHarness(controller_manager=controller_manager)
        with plane:
            failed_before = request.session.testsfailed
            yield plane
            plane.keep_logs = request.session.testsfailed > failed_before
    except errors.LabError as error:
        reason = f"{error.message}\n\nhint: {error.hint}"
    if reason:
        pytest.fail(f"no control plane: {reason}", pytrace=False)
    if plane.keep_logs:
        writer = request.config.get_terminal_writer()
        writer.line(f"\nlogs of the control plane: {plane.directory}")


@pytest.fixture(scope="session")
def sample_kind(control_plane: ControlPlaneHarness) -> None:
    """The kind of the sample controller is installed."""
    control_plane.install_crds([sample.CRD])
