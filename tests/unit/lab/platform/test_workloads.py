from cobaltcore.lab.platform import accounts, workloads

IMAGE = "ghcr.io/c5c3/cobaltcore@sha256:" + "0" * 64
SERVERS = {"mariadb": "ghcr.io/c5c3/mariadb@sha256:" + "1" * 64}


def test_both_processes_run_the_image_unprivileged_under_their_own_account() -> None:
    found = [e for e in workloads.objects(IMAGE, SERVERS) if e.kind.kind == "Deployment"]
    assert {e.body["metadata"]["name"] for e in found} == set(accounts.ALL)
    for each in found:
        pod = each.body["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert container["image"] == IMAGE
        assert pod["serviceAccountName"] == each.body["metadata"]["name"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert {"startupProbe", "readinessProbe", "livenessProbe"} <= set(container)


def test_providers_know_the_images_of_their_servers() -> None:
    (providers,) = (
        e
        for e in workloads.objects(IMAGE, SERVERS)
        if e.body["metadata"]["name"] == accounts.PROVIDERS
    )
    command = providers.body["spec"]["template"]["spec"]["containers"][0]["command"]
    assert f"--image=mariadb={SERVERS['mariadb']}" in command
