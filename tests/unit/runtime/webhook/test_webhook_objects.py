import base64

from cobaltcore.runtime import webhook_objects
from cobaltcore.runtime.meta import Kind
from cobaltcore.runtime.webhook_objects import Options, Service, Target

KEYSTONE = Kind("keystone.openstack.c5c3.io", "v1alpha1", "Keystone", "keystones")
SERVICE = Target(Service("cobalt-system", "webhook"), b"PEM")


def test_mutating_configuration_is_complete() -> None:
    found = webhook_objects.mutating(
        "cobalt", [KEYSTONE], SERVICE, options=Options(labels={"app": "cobalt"})
    )

    assert found == {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "cobalt", "labels": {"app": "cobalt"}},
        "webhooks": [
            {
                "name": "default.keystones.keystone.openstack.c5c3.io",
                "clientConfig": {
                    "service": {
                        "namespace": "cobalt-system",
                        "name": "webhook",
                        "path": "/default/keystone.openstack.c5c3.io/v1alpha1/keystones",
                        "port": 443,
                    },
                    "caBundle": base64.b64encode(b"PEM").decode(),
                },
                "rules": [
                    {
                        "apiGroups": ["keystone.openstack.c5c3.io"],
                        "apiVersions": ["v1alpha1"],
                        "resources": ["keystones"],
                        "operations": ["CREATE", "UPDATE"],
                        "scope": "Namespaced",
                    }
                ],
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "matchPolicy": "Equivalent",
                "failurePolicy": "Fail",
                "timeoutSeconds": 10,
            }
        ],
    }


def test_validating_configuration_also_asks_about_deletion() -> None:
    target = Target("https://127.0.0.1:9443/", b"PEM")

    found = webhook_objects.validating(
        "cobalt", [KEYSTONE], target, options=Options("Ignore", timeout_seconds=3)
    )

    entry = found["webhooks"][0]
    assert entry["rules"][0]["operations"] == ["CREATE", "UPDATE", "DELETE"]
    assert entry["clientConfig"]["url"].startswith("https://127.0.0.1:9443/validate/")
    assert (entry["failurePolicy"], entry["timeoutSeconds"]) == ("Ignore", 3)


def test_conversion_points_to_the_convert_path() -> None:
    found = webhook_objects.conversion(SERVICE)

    assert found["webhook"]["clientConfig"]["service"]["path"] == "/convert"
    assert found["webhook"]["conversionReviewVersions"] == ["v1"]


def test_webhooks_of_a_namespace_are_called_for_its_objects_only() -> None:
    target = webhook_objects.Target("https://127.0.0.1:9443", b"ca")
    kinds = [Kind("g", "v1", "A", "as"), Kind("g", "v1", "B", "bs", namespaced=False)]
    options = webhook_objects.Options(namespace="team")
    for found in (
        webhook_objects.mutating("n", kinds, target, options=options),
        webhook_objects.validating("n", kinds, target, options=options),
    ):
        (only,) = found["webhooks"]
        assert only["rules"][0]["resources"] == ["as"]
        expected = {"matchLabels": {"kubernetes.io/metadata.name": "team"}}
        assert only["namespaceSelector"] == expected
