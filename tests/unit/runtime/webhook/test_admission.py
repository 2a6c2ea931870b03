import base64
from typing import Any

import msgspec
import pytest

from cobaltcore.runtime import admission
from cobaltcore.runtime.admission import AdmissionRequest, Decision, Webhooks
from cobaltcore.runtime.meta import Kind, Object

KEYSTONE = Kind("keystone.openstack.c5c3.io", "v1alpha1", "Keystone", "keystones")


def a_keystone(**spec: Any) -> Object:
    return {
        "apiVersion": KEYSTONE.api_version,
        "kind": "Keystone",
        "metadata": {"name": "keystone", "namespace": "openstack"},
        "spec": spec,
    }


def a_review(obj: Object | None, **fields: Any) -> bytes:
    request = {
        "uid": "u-1",
        "kind": {"group": KEYSTONE.group, "version": "v1alpha1", "kind": "Keystone"},
        "resource": {"group": KEYSTONE.group, "version": "v1alpha1", "resource": "keystones"},
        "operation": "CREATE",
        "name": "keystone",
        "namespace": "openstack",
        "userInfo": {"username": "jane", "groups": ["dev"]},
        "object": obj,
        "oldObject": None,
        "options": {"kind": "CreateOptions"},
    }
    return msgspec.json.encode(
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": request | fields,
        }
    )


async def answered(webhooks: Webhooks, path: str, body: bytes) -> dict[str, Any]:
    answer = msgspec.json.decode(await webhooks.routes()[path](body))
    assert answer["response"]["uid"] == "u-1"
    response: dict[str, Any] = answer["response"]
    return response


async def in_place(request: AdmissionRequest) -> Object:
    assert request.object is not None
    request.object["spec"]["replicas"] = 3
    return request.object


async def a_copy(request: AdmissionRequest) -> Object:
    assert request.object is not None
    return {**request.object, "spec": {**request.object["spec"], "replicas": 3}}


@pytest.mark.parametrize("function", [in_place, a_copy])
async def test_defaulting_answers_with_a_patch(function: admission.Defaulting) -> None:
    webhooks = Webhooks()
    webhooks.defaulting(KEYSTONE, function)

    response = await answered(webhooks, admission.default_path(KEYSTONE), a_review(a_keystone()))

    assert response["allowed"] is True
    assert response["patchType"] == "JSONPatch"
    patch = msgspec.json.decode(base64.b64decode(response["patch"]))
    assert patch == [{"op": "add", "path": "/spec/replicas", "value": 3}]


async def test_defaulting_without_change_sends_no_patch() -> None:
    webhooks = Webhooks()
    webhooks.defaulting(KEYSTONE, a_copy)
    body = a_review(a_keystone(replicas=3))

    response = await answered(webhooks, admission.default_path(KEYSTONE), body)

    assert response == {"uid": "u-1", "allowed": True}


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (admission.ALLOWED, {"allowed": True}),
        (
            Decision(warnings=("replicas: 1 is not highly available",)),
            {"allowed": True, "warnings": ["replicas: 1 is not highly available"]},
        ),
        (
            admission.denied("spec.replicas: must be odd", code=422, warnings=("old",)),
            {
                "allowed": False,
                "warnings": ["old"],
                "status": {"code": 422, "message": "spec.replicas: must be odd"},
            },
        ),
    ],
)
async def test_validating_answers_with_the_decision(
    decision: Decision, expected: dict[str, Any]
) -> None:
    seen: list[AdmissionRequest] = []

    async def decide(request: AdmissionRequest) -> Decision:
        seen.append(request)
        return decision

    webhooks = Webhooks()
    webhooks.validating(KEYSTONE, decide)
    body = a_review(None, operation="DELETE", oldObject=a_keystone())

    response = await answered(webhooks, admission.validate_path(KEYSTONE), body)

    assert response == {"uid": "u-1", **expected}
    assert seen[0].operation == "DELETE"
    assert seen[0].user_info.username == "jane"
    assert seen[0].old_object == a_keystone()


async def fails(_: AdmissionRequest) -> Any:
    raise ValueError("password=hunter2")


async def test_exception_of_a_function_becomes_a_refusal_without_its_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    webhooks = Webhooks()
    webhooks.defaulting(KEYSTONE, fails)
    webhooks.validating(KEYSTONE, fails)

    for path in (admission.default_path(KEYSTONE), admission.validate_path(KEYSTONE)):
        response = await answered(webhooks, path, a_review(a_keystone()))

        assert response["allowed"] is False
        assert response["status"] == {
            "code": 500,
            "message": "Keystone openstack/keystone could not be checked because of an internal "
            "error; see the operator's log (request u-1)",
        }
    logged = capsys.readouterr()
    assert "ValueError" in logged.out + logged.err


def a_conversion(wanted: str, *objects: Object) -> bytes:
    return msgspec.json.encode(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "ConversionReview",
            "request": {"uid": "u-1", "desiredAPIVersion": wanted, "objects": list(objects)},
        }
    )


async def test_conversion_keeps_objects_that_have_the_wanted_version() -> None:
    body = a_conversion(KEYSTONE.api_version, a_keystone())

    response = await answered(Webhooks(), admission.CONVERT_PATH, body)

    assert response["result"] == {"status": "Success"}
    assert response["convertedObjects"] == [a_keystone()]


async def test_conversion_calls_the_function_of_the_kind() -> None:
    async def upgrade(obj: Object, wanted: str) -> Object:
        return {**obj, "apiVersion": wanted}

    webhooks = Webhooks()
    webhooks.converting(KEYSTONE, upgrade)
    wanted = f"{KEYSTONE.group}/v1"

    response = await answered(
        webhooks, admission.CONVERT_PATH, a_conversion(wanted, a_keystone(), a_keystone())
    )

    assert [each["apiVersion"] for each in response["convertedObjects"]] == [wanted, wanted]


async def test_conversion_without_a_function_is_an_error() -> None:
    wanted = f"{KEYSTONE.group}/v1"

    response = await answered(
        Webhooks(), admission.CONVERT_PATH, a_conversion(wanted, a_keystone())
    )

    assert response["result"] == {
        "status": "Failed",
        "message": f"Keystone cannot be converted from {KEYSTONE.api_version} to {wanted}",
    }
    assert response["convertedObjects"] == []


async def test_conversion_hides_what_the_function_raised() -> None:
    async def broken(_obj: Object, _wanted: str) -> Object:
        raise KeyError("hunter2")

    webhooks = Webhooks()
    webhooks.converting(KEYSTONE, broken)
    body = a_conversion(f"{KEYSTONE.group}/v1", a_keystone())

    response = await answered(webhooks, admission.CONVERT_PATH, body)

    assert response["result"]["status"] == "Failed"
    assert "hunter2" not in response["result"]["message"]


def test_second_function_for_a_kind_is_a_mistake() -> None:
    webhooks = Webhooks()
    webhooks.defaulting(KEYSTONE, a_copy)

    with pytest.raises(ValueError, match="already has a webhook"):
        webhooks.defaulting(KEYSTONE, a_copy)
