"""The webhook server asked by a real API server."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cobaltcore.runtime import admission, certificates, webhook_objects
from cobaltcore.runtime.admission import AdmissionRequest, Decision, Webhooks
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Kind, Object
from cobaltcore.runtime.webhook import Endpoint, ServingCertificate, WebhookServer
from cobaltcore.runtime.webhook_objects import MUTATING, VALIDATING, Target
from tests.support.control_plane import ControlPlaneHarness, KubectlError
from tests.support.operating import eventually

GROUP = "webhook.test.cobalt"
THING = Kind(GROUP, "v1", "Thing", "things")
THING_V2 = Kind(GROUP, "v2", "Thing", "things")
CRD = Kind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
AUTHORITY = certificates.authority("webhook-test", now=datetime.now(UTC))


def a_version(name: str, *, storage: bool) -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}},
    }


def the_crd() -> Object:
    return {
        "apiVersion": CRD.api_version,
        "kind": CRD.kind,
        "metadata": {"name": f"things.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
            "versions": [a_version("v1", storage=True), a_version("v2", storage=False)],
        },
    }


def a_thing(namespace: str, name: str, **spec: Any) -> Object:
    return {
        "apiVersion": THING.api_version,
        "kind": "Thing",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


@dataclass
class Rules:
    """The webhook functions of things."""

    decisions: dict[str, Callable[[], Decision]] = field(default_factory=dict)
    seen: list[AdmissionRequest] = field(default_factory=list)

    async def default(self, request: AdmissionRequest) -> Object:
        assert request.object is not None
        request.object["spec"].setdefault("size", "small")
        return request.object

    async def validate(self, request: AdmissionRequest) -> Decision:
        self.seen.append(request)
        return self.decisions.get(request.name, lambda: admission.ALLOWED)()


async def renamed(obj: Object, wanted: str) -> Object:
    """In v2 the size is called volume."""
    old, new = ("size", "volume") if wanted.endswith("/v2") else ("volume", "size")
    spec = {new if name == old else name: value for name, value in obj["spec"].items()}
    return {**obj, "apiVersion": wanted, "spec": spec}


def write_pair(directory: Path, *, now: datetime | None = None) -> None:
    pair = certificates.serving(
        AUTHORITY, ["127.0.0.1"], now=now or datetime.now(UTC), lifetime=timedelta(days=1)
    )
    certificates.write(pair, certificate=directory / "tls.crt", key=directory / "tls.key")


@pytest.fixture
def rules() -> Rules:
    return Rules()


@pytest.fixture(scope="session")
def things(control_plane: ControlPlaneHarness) -> None:
    """The kind that all tests here use."""
    control_plane.install_crds([the_crd()])


@pytest.fixture
def webhooks(rules: Rules) -> Webhooks:
    webhooks = Webhooks()
    webhooks.defaulting(THING, rules.default)
    webhooks.validating(THING, rules.validate)
    webhooks.converting(THING, renamed)
    return webhooks


@pytest.fixture
async def server(
    things: None, client: Client, webhooks: Webhooks, rules: Rules, tmp_path: Path
) -> AsyncIterator[WebhookServer]:
    """A webhook server that the API server asks about things until the test ends."""
    write_pair(tmp_path)
    server = WebhookServer(webhooks, an_endpoint(tmp_path))
    await server.start()
    target = Target(f"https://127.0.0.1:{server.port}", AUTHORITY.certificate)
    await _convert_by(client, webhook_objects.conversion(target))
    await client.apply(
        MUTATING, webhook_objects.mutating("things", [THING], target), manager="test"
    )
    await client.apply(
        VALIDATING, webhook_objects.validating("things", [THING], target), manager="test"
    )
    await eventually(lambda: _is_asked(client, rules), "the API server asks the webhooks")
    yield server
    await client.delete(MUTATING, Key("", "things"))
    await client.delete(VALIDATING, Key("", "things"))
    await _convert_by(client, {"strategy": "None", "webhook": None})
    await server.stop()


def an_endpoint(directory: Path, port: int = 0) -> Endpoint:
    return Endpoint(directory / "tls.crt", directory / "tls.key", host="127.0.0.1", port=port)


async def _convert_by(client: Client, conversion: Object) -> None:
    name = Key("", f"things.{GROUP}")
    await client.patch(CRD, name, {"spec": {"conversion": conversion}})


async def _is_asked(client: Client, rules: Rules) -> bool:
    thing = a_thing("default", "probe")
    defaulted = await client.apply(THING, thing, manager="test", dry_run=True)
    return "size" in defaulted["spec"] and bool(rules.seen)


async def kubectl(
    plane: ControlPlaneHarness, *arguments: str, manifest: Object | None = None
) -> str:
    text = msgspec.json.encode(manifest).decode() if manifest else None
    return await asyncio.to_thread(plane.kubectl, *arguments, input=text)


@pytest.mark.usefixtures("server")
async def test_object_is_defaulted(control_plane: ControlPlaneHarness, namespace: str) -> None:
    await kubectl(
        control_plane, "create", "-f", "-", manifest=a_thing(namespace, "plain", colour="red")
    )

    found = await kubectl(
        control_plane,
        "get",
        f"things.v1.{GROUP}",
        "plain",
        "-n",
        namespace,
        "-o",
        "jsonpath={.spec}",
    )

    assert msgspec.json.decode(found) == {"colour": "red", "size": "small"}


@pytest.mark.usefixtures("server")
async def test_object_is_rejected_with_our_message(
    control_plane: ControlPlaneHarness, namespace: str, rules: Rules
) -> None:
    rules.decisions["wrong"] = lambda: admission.denied("spec.size: must not be huge", code=422)

    with pytest.raises(KubectlError) as raised:
        await kubectl(
            control_plane, "create", "-f", "-", manifest=a_thing(namespace, "wrong", size="huge")
        )

    denied = f'admission webhook "validate.things.{GROUP}" denied the request'
    assert f"{denied}: spec.size: must not be huge" in str(raised.value)
    assert rules.seen[-1].user_info.username == "admin"


@pytest.mark.usefixtures("server")
async def test_deletion_is_rejected_with_our_message(
    control_plane: ControlPlaneHarness, namespace: str, rules: Rules
) -> None:
    await kubectl(control_plane, "create", "-f", "-", manifest=a_thing(namespace, "kept"))
    rules.decisions["kept"] = lambda: admission.denied("it still holds volumes")

    with pytest.raises(KubectlError, match="it still holds volumes"):
        await kubectl(control_plane, "delete", "thing", "kept", "-n", namespace)

    assert rules.seen[-1].old_object is not None


@pytest.mark.usefixtures("server")
async def test_warning_is_shown(
    control_plane: ControlPlaneHarness, namespace: str, rules: Rules
) -> None:
    rules.decisions["odd"] = lambda: Decision(warnings=("spec.size: small is not for production",))
    thing = a_thing(namespace, "odd")

    with pytest.raises(KubectlError, match=r"Warning: spec\.size: small is not for production"):
        await kubectl(control_plane, "create", "--warnings-as-errors", "-f", "-", manifest=thing)


@pytest.mark.usefixtures("server")
async def test_broken_function_denies_without_a_traceback(
    control_plane: ControlPlaneHarness, namespace: str, rules: Rules
) -> None:
    def broken() -> Decision:
        raise RuntimeError("password=hunter2")

    rules.decisions["unlucky"] = broken

    with pytest.raises(KubectlError) as raised:
        await kubectl(control_plane, "create", "-f", "-", manifest=a_thing(namespace, "unlucky"))

    assert f"Thing {namespace}/unlucky could not be checked" in str(raised.value)
    assert "hunter2" not in str(raised.value)
    assert "Traceback" not in str(raised.value)


@pytest.mark.usefixtures("server")
async def test_object_is_served_in_both_versions(client: Client, namespace: str) -> None:
    await client.create(THING, a_thing(namespace, "two", size="large"))

    found = await client.get(THING_V2, Key(namespace, "two"))

    assert found["spec"] == {"volume": "large"}
    found["spec"]["volume"] = "tiny"
    await client.replace(THING_V2, found)
    assert (await client.get(THING, Key(namespace, "two")))["spec"] == {"size": "tiny"}


async def test_rotation_under_load_loses_no_request(
    server: WebhookServer,
    client: Client,
    namespace: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reloads = 0
    reload = ServingCertificate._refresh

    def counted(self: ServingCertificate) -> None:
        nonlocal reloads
        reloads += 1
        reload(self)

    monkeypatch.setattr(ServingCertificate, "_refresh", counted)
    stop = asyncio.Event()
    created = 0

    async def create(worker: int) -> None:
        nonlocal created
        while not stop.is_set():
            await client.create(THING, a_thing(namespace, f"thing-{worker}-{created}"))
            created += 1

    async def some_more() -> bool:
        return created >= goal

    async with asyncio.TaskGroup() as tasks:
        for worker in range(40):
            tasks.create_task(create(worker))
        for _ in range(5):
            write_pair(tmp_path)
            await _new_connection(server.port)
            goal = created + 100
            await eventually(some_more, "requests go on")
        stop.set()

    assert reloads == 5
    assert created >= 500


async def _new_connection(port: int) -> None:
    """Shake hands, so that the new certificate is taken up at once."""
    context = ssl.create_default_context(cadata=AUTHORITY.certificate.decode())
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    writer.close()
    await writer.wait_closed()


async def test_expired_certificate_is_reported_and_its_successor_taken_up(
    server: WebhookServer,
    webhooks: Webhooks,
    control_plane: ControlPlaneHarness,
    namespace: str,
    tmp_path: Path,
) -> None:
    port = server.port
    await server.stop()
    write_pair(tmp_path, now=datetime.now(UTC) - timedelta(days=30))
    expired = WebhookServer(webhooks, an_endpoint(tmp_path, port))
    await expired.start()

    with pytest.raises(KubectlError, match="certificate has expired"):
        await kubectl(control_plane, "create", "-f", "-", manifest=a_thing(namespace, "late"))

    write_pair(tmp_path)
    await kubectl(control_plane, "create", "-f", "-", manifest=a_thing(namespace, "late"))
    await expired.stop()
