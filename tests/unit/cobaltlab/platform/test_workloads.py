from cobaltlab.platform import rbac, workloads

PRODUCT = "ghcr.io/c5c3/cobaltcore@sha256:" + "0" * 64
LAB = "ghcr.io/c5c3/cobaltlab@sha256:" + "2" * 64
SERVERS = {"mariadb": "ghcr.io/c5c3/mariadb@sha256:" + "1" * 64}
IMAGES = {rbac.OPERATORS: PRODUCT, rbac.PROVIDERS: LAB}


def test_deployments_run_unprivileged_with_their_own_service_account() -> None:
    objects = [*workloads.operators(PRODUCT), *workloads.providers(LAB, SERVERS)]
    found = {e.body["metadata"]["name"]: e.body for e in objects if e.kind.kind == "Deployment"}
    assert set(found) == set(rbac.ALL)
    for name, each in found.items():
        pod = each["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert container["image"] == IMAGES[name]
        assert pod["serviceAccountName"] == name
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert {"startupProbe", "readinessProbe", "livenessProbe"} <= set(container)


def test_providers_get_the_images_of_their_servers() -> None:
    (deployment,) = workloads.providers(LAB, SERVERS)
    command = deployment.body["spec"]["template"]["spec"]["containers"][0]["command"]
    assert f"--image=mariadb={SERVERS['mariadb']}" in command
