from cobaltcore.api.blocks import IssuerRef
from cobaltcore.engine.desired.certificate import certificate
from cobaltcore.runtime.meta import Key


def test_hosts_outside_of_the_cluster_are_names_or_addresses() -> None:
    built = certificate(
        Key("openstack", "glance-tls"),
        services=[Key("openstack", "glance")],
        secret="glance-tls",
        issuer=IssuerRef(name="ca"),
        labels={},
        hosts=["image.example.com", "192.0.2.7", "2001:db8::7"],
    )
    spec = built.body["spec"]
    assert spec["ipAddresses"] == ["192.0.2.7", "2001:db8::7"]
    assert "glance.openstack.svc.cluster.local" in spec["dnsNames"]
    assert spec["dnsNames"][-1] == "image.example.com"
