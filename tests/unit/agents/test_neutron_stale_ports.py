"""`cobalt-agent neutron stale-ports`, with a fake of the client of Open vSwitch."""

import importlib
import sys
from types import ModuleType

import pytest

AGENT = "cobaltcore.agents.neutron.stale_ports"


@pytest.fixture
def stale_ports(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name, attribute in (
        ("ovsdbapp.backend.ovs_idl", "connection"),
        ("ovsdbapp.schema.open_vswitch", "impl_idl"),
    ):
        module = ModuleType(name)
        vars(module)[attribute] = None
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, AGENT, raising=False)
    return importlib.import_module(AGENT)


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("tap1234567890", {"iface-id": "a"}, True),
        ("tap1234567890", {"iface-id": "a", "vm-uuid": "b"}, False),
        ("tun0", {}, False),
        ("ovn-hyperv-0", {"ovn-chassis-id": "c"}, False),
    ],
)
def test_only_ports_of_namespaces_are_removed(
    stale_ports: ModuleType, name: str, known: dict[str, str], expected: bool
) -> None:
    assert stale_ports.belongs_to_namespace({"name": name, "external_ids": known}) is expected
