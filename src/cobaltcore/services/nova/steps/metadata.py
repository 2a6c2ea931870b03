"""The secret that Neutron's metadata agents prove themselves with. Pure."""

from collections.abc import Iterator
from typing import Any

from cobaltcore.engine.definition import Facts, SecretNeed
from cobaltcore.engine.desired import names

KEYS = (names.METADATA_SECRET_KEY,)


def secret_name(facts: Facts) -> str:
    """The Secret that holds it."""
    given = facts.spec.metadata.shared_secret_ref
    return given.name if given is not None else names.metadata_secret(facts.key.name)


def given(spec: Any) -> Iterator[SecretNeed]:
    """The Secret, if the spec names one."""
    if spec.metadata.shared_secret_ref is not None:
        yield SecretNeed(spec.metadata.shared_secret_ref.name, KEYS, "metadata")


def own(instance: str, spec: Any) -> Iterator[SecretNeed]:
    """The Secret that is made if the spec names none."""
    if spec.metadata.shared_secret_ref is None:
        yield SecretNeed(names.metadata_secret(instance), KEYS, "metadata")
