"""Certificates in the lab: issued for a server pod, verified by a client pod, reissued."""

import base64
import json

import pytest

from tests.support import lab_providers, workloads
from tests.support.lab import CommandFailed, Lab, eventually

# Prints the serial number of the presented certificate; fails if it is not trusted or has another name.
CLIENT = """
import socket, ssl, sys
context = ssl.create_default_context(cafile="/trust/ca.crt")
with socket.create_connection((sys.argv[1], 8443), timeout=10) as plain:
    with context.wrap_socket(plain, server_hostname=sys.argv[2]) as secured:
        print(secured.getpeercert()["serialNumber"])
"""
# The files are read at every connection, as reloading servers do.
SERVER = """
import socket, ssl
listener = socket.create_server(("", 8443))
while True:
    connection, _ = listener.accept()
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("/tls/tls.crt", "/tls/tls.key")
        context.wrap_socket(connection, server_side=True).close()
    except OSError as error:
        print(error, flush=True)
"""
NAME = "keystone-api.openstack.svc"
HERE = ("-n", "openstack")


@pytest.fixture
def example(lab: Lab) -> None:
    """The example, with a server and a client pod."""
    image = lab_providers.images(lab, ["python-base"])["python-base"]
    lab.kubectl("apply", "-f", "-", input=workloads.text(*lab_providers.example("certificates")))
    lab_providers.wait_for(lab, "openstack", "certificate", "keystone-api")
    tls = {"name": "tls", "path": "/tls", "source": {"secret": {"secretName": "keystone-api-tls"}}}
    source = {"configMap": {"name": "cobalt-ca-bundle"}}
    trust = {"name": "trust", "path": "/trust", "source": source}
    server = workloads.pod("server", image, command=["python3", "-c", SERVER], mounts=[tls])
    client = workloads.pod("client", image, mounts=[trust])
    lab.create("openstack", server, client)
    for name in ("server", "client"):
        lab.wait_for_pod("openstack", name)


def presented(lab: Lab, name: str = NAME) -> str:
    address = lab.get("pod", *HERE, "server")["status"]["podIP"]
    return lab.kubectl(
        "exec", *HERE, "client", "--", "python3", "-c", CLIENT, address, name
    ).strip()


@pytest.mark.usefixtures("example")
def test_a_client_trusts_the_certificate_and_a_reissued_one(lab: Lab) -> None:
    first = eventually(lambda: presented(lab), "the server presents its certificate")
    with pytest.raises(CommandFailed, match="Hostname mismatch"):
        presented(lab, "another.openstack.svc")

    # The certificate of an emptied Secret is reissued; the client trusts it, too.
    lab.kubectl("delete", "secret", *HERE, "keystone-api-tls")
    lab_providers.wait_for(lab, "openstack", "certificate", "keystone-api")
    second = eventually(
        lambda: next((s for s in [_attempt(lab)] if s and s != first), ""),
        "the kubelet brings the new certificate",
    )
    assert second != first

    # What was issued stays when the Certificate is deleted, and is taken over when it is recreated.
    kept = lab.get("secret", *HERE, "keystone-api-tls")["data"]
    lab.kubectl("delete", "certificate", *HERE, "keystone-api")
    assert lab.get("secret", *HERE, "keystone-api-tls")["data"] == kept
    lab.kubectl("apply", "-f", "-", input=workloads.text(*lab_providers.example("certificates")))
    lab_providers.wait_for(lab, "openstack", "certificate", "keystone-api")
    assert lab.get("secret", *HERE, "keystone-api-tls")["data"] == kept
    certificate = base64.b64decode(kept["tls.crt"]).decode()
    assert certificate.startswith("-----BEGIN CERTIFICATE-----")
    lab.kubectl("delete", "pod", *HERE, "server", "client")
    lab.kubectl(
        "patch", "certificate", *HERE, "keystone-api", "--type=merge",
        "--patch", json.dumps({"spec": {"dnsNames": [NAME, "further.openstack.svc"]}}),
    )  # fmt: skip
    eventually(
        lambda: lab.get("secret", *HERE, "keystone-api-tls")["data"]["tls.crt"] != kept["tls.crt"],
        "another name is another certificate",
    )


def _attempt(lab: Lab) -> str:
    try:
        return presented(lab)
    except CommandFailed:
        return ""
