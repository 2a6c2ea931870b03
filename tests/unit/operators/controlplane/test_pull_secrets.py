"""Credentials of registries reach every pod and every service."""

from tests.support.control_planes import a_ready_one

SECRETS = [{"name": "registry"}]


def test_everything_with_an_image_of_ours_has_the_pull_secrets() -> None:
    plane = a_ready_one(global__imagePullSecrets=SECRETS, services__barbican__enabled=True)
    pods, services = {}, {}
    for each in plane.plan().objects:
        spec = each.body.get("spec", {})
        name = f"{each.kind.kind}/{each.key.name}"
        if "template" in spec:
            pods[name] = spec["template"]["spec"].get("imagePullSecrets")
        elif each.kind.group.endswith((".openstack.c5c3.io", "ovn.c5c3.io")):
            services[name] = spec.get("imagePullSecrets")
    assert len(pods) > 1
    assert len(services) > 7
    assert {name for name, found in {**pods, **services}.items() if found != SECRETS} == set()
