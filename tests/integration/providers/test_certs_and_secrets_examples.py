"""The examples of certificates and secrets become ready as they are written."""

from pathlib import Path

import pytest
import yaml

from cobaltcore.api.foreign.certmanager import CERTIFICATE
from cobaltcore.api.foreign.eso import EXTERNAL_SECRET
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Kind
from cobaltlab.providers import certmanager, eso
from cobaltlab.providers.provider import Provider
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually
from tests.support.providers import condition, content, install, running_providers, validate
from tests.support.rights import as_provider

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "providers"
OLD_FORM = EXTERNAL_SECRET._replace(version="v1beta1")


@pytest.mark.parametrize(
    ("file", "provided", "kind", "key", "secret", "keys"),
    [
        (
            "certificates.yaml",
            certmanager.PROVIDER,
            CERTIFICATE,
            Key("openstack", "keystone-api"),
            "keystone-api-tls",
            {"tls.crt", "tls.key", "ca.crt"},
        ),
        (
            "secrets.yaml",
            eso.PROVIDER,
            OLD_FORM,
            Key("orc-system", "k-orc-clouds-yaml"),
            "k-orc-clouds-yaml",
            {"clouds.yaml"},
        ),
    ],
    ids=["certificates", "secrets"],
)
async def test_example_becomes_ready(
    control_plane: ControlPlaneHarness,
    client: Client,
    file: str,
    provided: Provider,
    kind: Kind,
    key: Key,
    secret: str,
    keys: set[str],
) -> None:
    await install(client, provided)
    text = (EXAMPLES / file).read_text()
    known = {(each.api_version, each.kind): each for each in provided.kinds}
    for obj in yaml.safe_load_all(text):
        found = known.get((obj["apiVersion"], obj["kind"]))
        if found is not None and found.version != "v1beta1":
            validate(found, obj)
    async with running_providers(as_provider(control_plane, "example-provider"), provided):
        control_plane.kubectl("apply", "-f", "-", input=text)

        async def ready() -> bool:
            return (await condition(client, kind, key))[0] == "True"

        await eventually(ready, f"{kind.kind} {key} is ready")
    created = await content(client, Key(key.namespace, secret))
    assert created is not None
    assert keys <= set(created)
    # This control plane has no garbage collector.
    await client.delete(SECRET, Key(key.namespace, secret))
