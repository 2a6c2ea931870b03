"""A real etcd and kube-apiserver for tests, on loopback, in a directory of their own.

    with ControlPlaneHarness() as plane:
        plane.kubectl("get", "namespaces")
        start = plane.mark()
        ...
        assert plane.audit(since=start, agent="cobaltcore") == []

Pods are never run. Without the controller manager nothing is collected, no namespace is ever
emptied, aggregated roles ("view", "edit") hold no rules, and pods need no ServiceAccount.
"""

import http.client
import ssl
import subprocess
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

from cobaltlab import kubebuild, pki, process
from tests.support import audit as audit_log
from tests.support import control_plane_flags as flags
from tests.support.ports import ReservedPort
from tests.support.scratch import ScratchDirectory

AuditLevel = Literal["Metadata", "Request", "RequestResponse"]
ADMIN = "admin"
WAIT_LIMIT = timedelta(seconds=120)
REQUEST_SECONDS = 60


class HttpError(Exception):
    """The API server answered a request of the harness with an error."""

    def __init__(self, method: str, path: str, status: int, body: bytes) -> None:
        super().__init__(f"{method} {path}: HTTP {status}: {body.decode(errors='replace')[:1000]}")
        self.status = status


class KubectlError(Exception):
    """Kubectl ended with an error; the message holds what it wrote."""


class ControlPlaneHarness:
    """Starts, restarts and stops one control plane."""

    def __init__(
        self,
        *,
        audit_level: AuditLevel = "Metadata",
        controller_manager: bool = False,
        apiserver_flags: flags.Flags | None = None,
    ) -> None:
        self.programs = kubebuild.ensure(kubebuild.KUBE).parent
        self._scratch = ScratchDirectory("cobaltcore-control-plane-")
        self.directory = self._scratch.path
        self.audit_log = self.directory / "audit.log"
        self._pki = pki.Pki(self.directory / "pki")
        self._ports = {name: ReservedPort() for name in ("etcd", "etcd-peer", "apiserver")}
        self.url = f"https://{flags.HOST}:{self._ports['apiserver'].number}"
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._has_controller_manager = controller_manager
        self.keep_logs = False
        self.etcd = self._child("etcd", self._etcd_flags())
        self.apiserver = self._child(
            "kube-apiserver", {**self._apiserver_flags(audit_level), **(apiserver_flags or {})}
        )
        self.controller_manager = self._child(
            "kube-controller-manager", flags.controller_manager(self._pki, server=self.url)
        )

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            undo.callback(self.close)
            self.keep_logs = True
            self.start()
            self.keep_logs = False
            undo.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.keep_logs |= error is not None
        self.close()

    # --- life -------------------------------------------------------------------------------

    def start(self) -> None:
        """Start everything and wait until the API server is ready."""
        self.etcd.start()
        self.start_apiserver()
        if self._has_controller_manager:
            self.controller_manager.start()
            self.controller_manager.wait_until(
                self._default_service_account_exists, within=WAIT_LIMIT
            )

    def start_apiserver(self) -> None:
        """Start the API server on its old address and wait until it is ready."""
        self.apiserver.start()
        self.apiserver.wait_until(self.is_ready, within=WAIT_LIMIT)

    def stop_apiserver(self) -> None:
        """Stop the API server; etcd keeps the data."""
        self.apiserver.stop()

    def restart_apiserver(self, *, kill: bool = False) -> None:
        """Stop (or kill) the API server and start it again with the same data."""
        if kill:
            self.apiserver.kill()
        else:
            self.apiserver.stop()
        self.start_apiserver()

    def close(self) -> None:
        """End all processes and remove the directory, but for the logs if they are wanted."""
        for child in (self.controller_manager, self.apiserver, self.etcd):
            child.kill()
        for port in self._ports.values():
            port.release()
        self._scratch.remove(keep_logs=self.keep_logs)

    # --- who and where ----------------------------------------------------------------------

    @property
    def ca(self) -> Path:
        """The certificate that signs the API server's and all clients' certificates."""
        return self._pki.authority().certificate

    def kubeconfig(self, user: str = ADMIN, *, groups: tuple[str, ...] = ()) -> Path:
        """A kubeconfig with a client certificate; any user but the admin starts without rights."""
        if user == ADMIN:
            groups = (pki.ADMINISTRATORS,)
        return self._pki.kubeconfig(user, server=self.url, groups=groups)

    def token(self, service_account: str, *, namespace: str) -> str:
        """A fresh token of a ServiceAccount, which must exist."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        return str(self.request("POST", path, request)["status"]["token"])

    def token_kubeconfig(self, service_account: str, *, namespace: str) -> Path:
        """A kubeconfig that acts as a ServiceAccount."""
        return self._pki.write_kubeconfig(
            f"{namespace}:{service_account}",
            server=self.url,
            credentials={"token": self.token(service_account, namespace=namespace)},
            namespace=namespace,
        )

    # --- requests ---------------------------------------------------------------------------

    def kubectl(
        self,
        *arguments: str,
        input: str | None = None,  # noqa: A002 - as in subprocess
        user: str = ADMIN,
        kubeconfig: Path | None = None,
    ) -> str:
        """Run kubectl and return what it wrote to standard output."""
        config = kubeconfig or self.kubeconfig(user)
        command = [str(self.programs / "kubectl"), f"--kubeconfig={config}", *arguments]
        done = subprocess.run(
            command,
            input=input,
            capture_output=True,
            text=True,
            check=False,
            env={"KUBECACHEDIR": str(self.directory / "kubectl-cache"), "PATH": ""},
        )
        if done.returncode:
            shown = " ".join(["kubectl", *arguments])
            raise KubectlError(f"{shown}: exit code {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, user: str = ADMIN
    ) -> dict[str, Any]:
        """Send one JSON request and return the object of the answer."""
        answer = self._send(method, path, msgspec.json.encode(body) if body else b"", user=user)
        return msgspec.json.decode(answer, type=dict[str, Any])

    def metrics(self) -> str:
        """The API server's own metrics, in the Prometheus text format."""
        return self._send("GET", "/metrics").decode()

    def is_ready(self) -> bool:
        """Whether the API server reports that it is ready."""
        try:
            self._send("GET", "/readyz")
        except (OSError, http.client.HTTPException, HttpError):
            return False
        return True

    def create_namespace(self, prefix: str = "test") -> str:
        """Create a namespace with a name of its own."""
        name = f"{prefix}-{uuid.uuid4().hex[:10]}"
        self.request(
            "POST",
            "/api/v1/namespaces",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
        )
        return name

    def install_crds(self, crds: Iterable[Mapping[str, Any]]) -> None:
        """Create CustomResourceDefinitions and wait until their kinds are served."""
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        waiting = {str(self.request("POST", path, crd)["metadata"]["name"]) for crd in crds}

        def all_served() -> bool:
            served = [each for each in self.request("GET", path)["items"] if _is_established(each)]
            waiting.difference_update(each["metadata"]["name"] for each in served)
            return not waiting

        self.wait_until(all_served, what=f"serving {len(waiting)} custom kinds")

    def wait_until(self, condition: Callable[[], bool], *, what: str) -> None:
        """Wait for a condition while the API server runs; fail with the end of its log."""
        self.apiserver.wait_until(condition, within=WAIT_LIMIT, what=what)

    # --- audit ------------------------------------------------------------------------------

    def mark(self) -> audit_log.Marker:
        """This moment, to read the audit log from here on."""
        barrier = self._barrier()
        return audit_log.Marker(offset=self.audit_log.stat().st_size, received=barrier.received)

    def audit(
        self,
        *,
        since: audit_log.Marker = audit_log.Marker(),  # noqa: B008 - immutable
        user: str = "",
        agent: str = "",
        verbs: Sequence[str] = (),
        resource: str = "",
        namespace: str = "",
    ) -> list[audit_log.Request]:
        """Requests that the API server received since a mark; of agents the name's start counts.

        A watch that runs counts once, at its beginning.
        """
        if self.apiserver.is_running:
            self._barrier()
        wanted = audit_log.Filter(user, agent, verbs, resource, namespace)
        return audit_log.requests(self.audit_log, since, wanted)

    def _barrier(self) -> audit_log.Request:
        """Make a request and find it in the log: all that was answered before it is there, too."""
        offset = self.audit_log.stat().st_size if self.audit_log.exists() else 0
        path = f"/version?barrier={uuid.uuid4().hex}"
        self._send("GET", path, agent=audit_log.BARRIER_AGENT)
        found: list[audit_log.Request] = []

        def is_logged() -> bool:
            lines = audit_log.read(self.audit_log, audit_log.Marker(offset))
            found.extend(each for each in lines if each.uri == path)
            return bool(found)

        self.wait_until(is_logged, what=f"writing {self.audit_log}")
        return found[0]

    # --- inner parts ------------------------------------------------------------------------

    def _send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        user: str = ADMIN,
        agent: str = "harness",
    ) -> bytes:
        connection = http.client.HTTPSConnection(
            flags.HOST,
            self._ports["apiserver"].number,
            context=self._context(user),
            timeout=REQUEST_SECONDS,
        )
        try:
            headers = {"User-Agent": agent, "Content-Type": "application/json"}
            connection.request(method, path, body=body or None, headers=headers)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.status >= 400:
            raise HttpError(method, path, response.status, content)
        return content

    def _context(self, user: str) -> ssl.SSLContext:
        if user not in self._contexts:
            groups = (pki.ADMINISTRATORS,) if user == ADMIN else ()
            pair = self._pki.client(user, groups=groups)
            context = ssl.create_default_context(cafile=self.ca)
            context.load_cert_chain(pair.certificate, pair.key)
            self._contexts[user] = context
        return self._contexts[user]

    def _default_service_account_exists(self) -> bool:
        try:
            self.request("GET", "/api/v1/namespaces/default/serviceaccounts/default")
        except HttpError:
            return False
        return True

    def _etcd_flags(self) -> flags.Flags:
        return flags.etcd(
            self.directory / "etcd",
            port=self._ports["etcd"].number,
            peer_port=self._ports["etcd-peer"].number,
        )

    def _apiserver_flags(self, audit_level: AuditLevel) -> flags.Flags:
        policy = self.directory / "audit-policy.yaml"
        policy.write_text(flags.audit_policy(audit_level))
        found = flags.apiserver(
            self._pki,
            etcd_port=self._ports["etcd"].number,
            port=self._ports["apiserver"].number,
            audit_policy=policy,
            audit_log=self.audit_log,
        )
        # Pods need a ServiceAccount, and only the controller manager makes one per namespace.
        without = (
            {} if self._has_controller_manager else {"disable-admission-plugins": "ServiceAccount"}
        )
        return {**found, **without}

    def _child(self, program: str, options: flags.Flags) -> process.Child:
        arguments = [f"--{name}={value}" for name, value in options.items()]
        log = self.directory / f"{program}.log"
        return process.Child(program, [self.programs / program, *arguments], log)


def _is_established(crd: Mapping[str, Any]) -> bool:
    conditions = crd.get("status", {}).get("conditions") or []  # null for a moment
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
