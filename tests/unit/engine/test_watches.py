"""Which objects a change concerns."""

import pytest

from cobaltcore.engine.desired import names
from cobaltcore.engine.watches import instance_of
from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.meta import Key, Object
from cobaltcore.runtime.store import Change


def keys_for(labels: Object | None) -> list[Key]:
    metadata = {"name": "any", "namespace": "ns", "resourceVersion": "1", "labels": labels}
    state = CachedObject.of({"metadata": metadata})
    return list(instance_of("c5c3")(Change(state.key, None, state)))


def test_labels_name_an_instance() -> None:
    assert keys_for({names.NAME: "c5c3", names.INSTANCE: "cloud"}) == [Key("ns", "cloud")]


@pytest.mark.parametrize(
    "labels",
    [None, {}, {names.NAME: "c5c3"}, {names.NAME: "c5c3", names.INSTANCE: ""}, {names.NAME: "x"}],
)
def test_labels_that_name_no_instance_concern_nobody(labels: Object | None) -> None:
    assert keys_for(labels) == []
