"""The secret that Neutron's metadata agents prove themselves with. Pure."""

from collections.abc import Iterator

from cobaltcore.api.nova import NovaSpec
from cobaltcore.engine import access
from cobaltcore.engine.definition import SecretNeed, ServiceScope
from cobaltcore.engine.desired import names

PORT = 8775
KEYS = (names.METADATA_SECRET_KEY,)


def secret_value(scope: ServiceScope[NovaSpec]) -> str:
    """The shared secret itself."""
    reference = scope.spec.metadata.shared_secret_ref
    if reference is None:
        return access.value(scope, names.metadata_secret(scope.name), *KEYS)
    return access.value(scope, reference.name, reference.key or names.METADATA_SECRET_KEY)


def needs(spec: NovaSpec) -> Iterator[SecretNeed]:
    """The Secret, if the spec names one."""
    reference = spec.metadata.shared_secret_ref
    if reference is not None:
        key = reference.key or names.METADATA_SECRET_KEY
        yield SecretNeed(reference.name, (key,), "metadata")


def own(instance: str, spec: NovaSpec) -> Iterator[SecretNeed]:
    """The Secret that is created if the spec names none."""
    if spec.metadata.shared_secret_ref is None:
        yield SecretNeed(names.metadata_secret(instance), KEYS, "metadata")
