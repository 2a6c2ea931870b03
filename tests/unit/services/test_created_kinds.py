"""A service creates no kind that its operator's role leaves out."""

import pytest

from cobaltcore.engine import definitions, service
from tests.support import openstack, planning
from tests.support.planning import stored

CASES = [
    (found.kind.kind, number)
    for found in definitions.services()
    for number, each in enumerate(openstack.documents(found.kind.kind))
    if "database" in each["spec"]
]
"""Whole examples; the requirements also show single blocks."""


@pytest.mark.parametrize(("kind", "number"), CASES)
def test_objects_of_a_service_are_of_the_kinds_that_it_declares(kind: str, number: int) -> None:
    document = openstack.documents(kind)[number]
    document.pop("status", None)
    scope = planning.scope(stored(document))
    created = {each.kind for each in planning.everything(scope)}
    assert created <= {child.kind for child in service.children(planning.service(kind))}
