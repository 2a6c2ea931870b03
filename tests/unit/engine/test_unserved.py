import asyncio
from collections.abc import Awaitable

import msgspec
import pytest

from cobaltcore.engine import registry, unserved
from cobaltcore.runtime import admission, webhook_objects
from cobaltcore.runtime.admission import Webhooks
from cobaltcore.runtime.meta import Kind
from cobaltcore.runtime.webhook_objects import Target

TABLE = Webhooks()
unserved.register(TABLE)


async def answered(answer: Awaitable[bytes]) -> bytes:
    return await answer


@pytest.mark.parametrize("kind", registry.kinds_without_operator(), ids=lambda kind: kind.kind)
def test_object_of_a_kind_without_operator_is_accepted_with_a_warning(
    kind: Kind,
) -> None:
    request = {
        "uid": "1",
        "operation": "CREATE",
        "kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "object": {"spec": {}},
    }
    review = {"apiVersion": "admission.k8s.io/v1", "request": request}
    answer = TABLE.routes()[admission.validate_path(kind)]
    response = msgspec.json.decode(asyncio.run(answered(answer(msgspec.json.encode(review)))))[
        "response"
    ]
    assert response["allowed"] is True
    assert response["warnings"] == [
        f"kind {kind.kind} is accepted but no operator of this release serves it yet"
    ]


def test_kinds_without_operator_are_accepted_while_no_operator_runs() -> None:
    configuration = webhook_objects.validating(
        "cobalt",
        TABLE.validating_functions,
        Target("https://localhost", b""),
        optional=TABLE.optional,
    )
    assert {each["failurePolicy"] for each in configuration["webhooks"]} == {"Ignore"}
