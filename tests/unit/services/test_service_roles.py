"""Users of services have the role `admin` only where OpenStack needs it."""

from cobaltcore.engine import definitions


def test_services_that_only_check_tokens_administer_nothing() -> None:
    roles = {each.name: each.part.roles for each in definitions.services() if each.part}
    assert {name for name, held in roles.items() if "admin" in held} == {
        "barbican", "cinder", "neutron", "nova",
    }  # fmt: skip
    assert {name for name, held in roles.items() if held and {*held} <= {"reader", "service"}} == {
        "glance", "placement",
    }  # fmt: skip
