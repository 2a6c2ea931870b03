"""The key encryption key (KEK) that encrypts the keys of projects. Pure."""

import base64
from collections.abc import Iterator

from cobaltcore.api.barbican import KEK_KEY, BarbicanSpec
from cobaltcore.engine import access
from cobaltcore.engine.definition import SecretNeed, ServiceScope
from cobaltcore.engine.verdict import InputInvalid

PURPOSE = "key encryption key"
BYTES = 32


def value(scope: ServiceScope[BarbicanSpec]) -> str:
    """The KEK itself."""
    reference = scope.spec.secret_store.kek_secret_ref
    name = reference.name if reference is not None else _own(scope.name)
    key = (reference.key if reference is not None else None) or KEK_KEY
    found = access.value(scope, name, key).strip()
    if not _is_valid(found):
        raise InputInvalid(
            "KeyInvalid",
            f"Secret {name!r}: the value of {key!r} is not {BYTES} bytes in URL-safe base64; "
            f"create one with: openssl rand -base64 {BYTES} | tr +/ -_",
        )
    return found


def external(spec: BarbicanSpec) -> Iterator[SecretNeed]:
    """The Secret, if the spec names one."""
    reference = spec.secret_store.kek_secret_ref
    if reference is not None:
        yield SecretNeed(reference.name, (reference.key or KEK_KEY,), PURPOSE)


def generated(instance: str, spec: BarbicanSpec) -> Iterator[SecretNeed]:
    """The Secret that is created if the spec names none."""
    if spec.secret_store.kek_secret_ref is None:
        yield SecretNeed(_own(instance), (KEK_KEY,), PURPOSE, encrypts_data=True)


def _own(instance: str) -> str:
    return f"{instance}-kek"


def _is_valid(text: str) -> bool:
    try:
        return len(base64.b64decode(text, altchars=b"-_", validate=True)) == BYTES
    except ValueError:
        return False
