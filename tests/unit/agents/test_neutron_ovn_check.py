import pytest

from cobaltcore.agents.neutron import ovn_check


@pytest.mark.parametrize(
    ("host", "looked_up"),
    [
        ("ovn-nb.ovn-system", "ovn-nb.ovn-system."),
        ("ovn-nb.ovn-system.svc.cluster.local", "ovn-nb.ovn-system.svc.cluster.local."),
        ("ovn-nb.example.org.", "ovn-nb.example.org."),
        ("10.0.0.1", "10.0.0.1"),
        ("fd00::1", "fd00::1"),
    ],
)
def test_names_are_looked_up_as_open_vswitch_does_it(host: str, looked_up: str) -> None:
    assert ovn_check.absolute(host) == looked_up
