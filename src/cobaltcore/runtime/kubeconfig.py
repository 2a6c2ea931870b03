"""Load kubeconfig files, merged as kubectl merges them, or a pod's service account.

The order is: the argument, the files in $KUBECONFIG, the pod, ~/.kube/config. Everything that
cannot be used is a ConfigError that names the file and the entry, with a hint.
"""

import base64
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cobaltcore.runtime import auth, errors, kubeconfig_files
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.kubeconfig_files import Cluster, Context, Exec, Found, Merged, User
from cobaltcore.runtime.pair import Pair
from cobaltcore.runtime.transport import Connection, Headers, Identity

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
EXEC_EXTENSION = "client.authentication.k8s.io/exec"


def load(
    path: Path | None = None,
    *,
    context: str | None = None,
    environ: Mapping[str, str],
    service_account: Path = SERVICE_ACCOUNT,
    clock: Clock | None = None,
) -> Connection:
    """Load the API server's address and credentials; raise ConfigError if that is impossible."""
    candidates = _candidates(path, environ)
    if not candidates and "KUBERNETES_SERVICE_HOST" in environ:
        return _in_cluster(environ, service_account)
    home = Path(environ.get("HOME", "/")) / ".kube" / "config"
    merged = kubeconfig_files.merge(
        [kubeconfig_files.parse(file) for file in candidates or [home] if file.exists()]
    )
    if not merged.files:
        names = ", ".join(str(file) for file in candidates or [home])
        raise errors.ConfigError(
            f"no kubeconfig found: {names} does not exist",
            hint="use --kubeconfig FILE, set KUBECONFIG, or start the lab with: cobalt up",
        )
    return _connect(merged, context or merged.current, environ, clock or SystemClock())


def _candidates(path: Path | None, environ: Mapping[str, str]) -> list[Path]:
    if path is not None:
        return [path]
    return [Path(each) for each in environ.get("KUBECONFIG", "").split(":") if each]


def _in_cluster(environ: Mapping[str, str], directory: Path) -> Connection:
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    here = Found("service account", "of this pod", None, directory / "token")
    try:
        authority = (directory / "ca.crt").read_text()
        context = auth.Trust(authority).context()
    except (OSError, ValueError) as error:
        raise here.fault(
            f"ca.crt cannot be used: {error}",
            "set automountServiceAccountToken of the pod or use --kubeconfig FILE",
        ) from error
    namespace = directory / "namespace"
    return Connection(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        ssl=context,
        credentials=auth.FileCredentials(
            lambda: Identity(auth.bearer(_read_token(here, here.file))), watched=(here.file,)
        ),
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
    )


def _connect(merged: Merged, wanted: str, environ: Mapping[str, str], clock: Clock) -> Connection:
    names = ", ".join(str(file) for file in merged.files)
    known = ", ".join(sorted(merged.contexts)) or "none"
    if not wanted:
        raise errors.ConfigError(
            f"{names} has no current-context",
            hint=f"choose one with: kubectl config use-context NAME (contexts: {known})",
        )
    context = merged.contexts.get(wanted)
    if context is None:
        raise errors.ConfigError(
            f'{names} has no context "{wanted}"', hint=f"contexts are: {known}"
        )
    cluster = merged.clusters.get(context.value.cluster)
    if cluster is None:
        raise _dangling(context, "cluster", context.value.cluster, merged.clusters)
    user = merged.users.get(context.value.user)
    if user is None and context.value.user:
        raise _dangling(context, "user", context.value.user, merged.users)
    trust = _trust(cluster)
    return Connection(
        server=_server(cluster),
        ssl=trust.context(),
        credentials=_credentials(user, cluster, trust, environ, clock) if user else None,
        namespace=context.value.namespace or "default",
        server_name=cluster.value.tls_server_name,
        proxy=_proxy(cluster),
    )


def _dangling(
    context: Found[Context], kind: str, name: str, known: Mapping[str, object]
) -> errors.ConfigError:
    what = f'{kind} "{name}" is not defined' if name else f"{kind} is not set"
    available = ", ".join(sorted(known)) or "none"
    return context.fault(
        what,
        f"set one with: kubectl config set-context {context.name} --{kind}=NAME "
        f"({kind}s: {available})",
    )


def _server(cluster: Found[Cluster]) -> str:
    server = cluster.value.server.rstrip("/")
    if not server.startswith(("https://", "http://")):
        raise cluster.fault(
            f'server "{server}" is not an http or https URL' if server else "server is not set",
            f"set it with: kubectl config set-cluster {cluster.name} --server=https://HOST:PORT",
        )
    return server


def _proxy(cluster: Found[Cluster]) -> str:
    proxy = cluster.value.proxy_url
    if proxy and not proxy.startswith(("http://", "https://")):
        raise cluster.fault(
            "proxy-url is not an http or https URL", "use an HTTP proxy, or none, for this cluster"
        )
    return proxy


def _trust(cluster: Found[Cluster]) -> auth.Trust:
    authority = _authority(cluster)
    text = None if authority is None else authority.decode(errors="replace")
    trust = auth.Trust(text, verify=not cluster.value.insecure_skip_tls_verify)
    try:
        trust.context()
    except (ssl.SSLError, ValueError) as error:
        raise cluster.fault(
            "certificate-authority is not a PEM certificate",
            "fetch the CA certificate of the cluster again",
        ) from error
    return trust


def _authority(cluster: Found[Cluster]) -> bytes | None:
    value = cluster.value
    return _content(
        cluster,
        "certificate-authority",
        value.certificate_authority_data,
        value.certificate_authority,
    )


def _credentials(
    user: Found[User],
    cluster: Found[Cluster],
    trust: auth.Trust,
    environ: Mapping[str, str],
    clock: Clock,
) -> auth.FileCredentials | auth.ExecCredentials:
    value = user.value
    _refuse_removed(user)
    if value.exec is not None:
        plugin = _plugin(user, value.exec, cluster, environ)
        return auth.ExecCredentials(plugin, trust=trust, clock=clock, headers=_impersonate(value))
    paths = (value.client_certificate, value.client_key, value.token_file)
    return auth.FileCredentials(
        lambda: _identity(user, trust), watched=tuple(user.path(each) for each in paths if each)
    )


def _refuse_removed(user: Found[User]) -> None:
    if user.value.username:
        raise user.fault(
            "username and password are no longer supported by Kubernetes",
            "use a token, a client certificate or an exec plugin",
        )
    if user.value.auth_provider is not None:
        raise user.fault(
            "auth-provider was removed from Kubernetes", "use the provider's exec plugin"
        )


def _identity(user: Found[User], trust: auth.Trust) -> Identity:
    value = user.value
    token = _read_token(user, user.path(value.token_file)) if value.token_file else value.token
    headers = _impersonate(value) + (auth.bearer(token) if token else ())
    certificate = _content(
        user, "client-certificate", value.client_certificate_data, value.client_certificate
    )
    key = _content(user, "client-key", value.client_key_data, value.client_key)
    if certificate is None and key is None:
        return Identity(headers)
    if certificate is None or key is None:
        missing = "client-certificate" if certificate is None else "client-key"
        raise user.fault(f"{missing} is not set", "set both client-certificate and client-key")
    try:
        return Identity(headers, trust.context(Pair(certificate, key)))
    except ssl.SSLError as error:
        raise user.fault(
            "client-certificate and client-key are not a matching PEM pair",
            "use a PEM certificate and its private key without a passphrase",
        ) from error


def _read_token(owner: Found[Any], path: Path) -> str:
    hint = "check that the file is mounted and readable"
    try:
        token = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise owner.fault(f"the token file {path} cannot be read", hint) from error
    if not token:
        raise owner.fault(f"the token file {path} is empty", hint)
    return token


def _content(owner: Found[Any], field: str, data: str, path: str) -> bytes | None:
    """The content of a field, None if it is not set; as with kubectl, data precedes a path."""
    if data:
        try:
            return base64.b64decode("".join(data.split()), validate=True)
        except ValueError as error:
            raise owner.fault(
                f"{field}-data is not base64", "encode it with: base64 -w0"
            ) from error
    if not path:
        return None
    try:
        return owner.path(path).read_bytes()
    except OSError as error:
        raise owner.fault(
            f"{field} {owner.path(path)} cannot be read: {error.strerror}",
            "check the path and its permissions",
        ) from error


def _impersonate(user: User) -> Headers:
    headers = [("Impersonate-User", user.as_user)] if user.as_user else []
    headers += [("Impersonate-Uid", user.as_uid)] if user.as_uid else []
    headers += [("Impersonate-Group", group) for group in user.as_groups or ()]
    for key, values in (user.as_user_extra or {}).items():
        headers += [(f"Impersonate-Extra-{key}", value) for value in values]
    return tuple(headers)


def _plugin(
    user: Found[User], spec: Exec, cluster: Found[Cluster], environ: Mapping[str, str]
) -> auth.ExecPlugin:
    if spec.api_version not in auth.EXEC_VERSIONS:
        raise user.fault(
            f"apiVersion {spec.api_version} of the exec plugin is not supported",
            f"use {' or '.join(auth.EXEC_VERSIONS)}",
        )
    if spec.interactive_mode == "Always":
        raise user.fault(
            "the exec plugin needs a terminal (interactiveMode: Always)",
            "use a plugin that runs non-interactively",
        )
    command = str(user.path(spec.command)) if "/" in spec.command else spec.command
    return auth.ExecPlugin(
        owner=f"user {user.name} in {user.file}",
        version=spec.api_version,
        command=command,
        args=tuple(spec.args or ()),
        environ={**environ, **{each.name: each.value for each in spec.env or ()}},
        install_hint=spec.install_hint.strip(),
        cluster=_cluster_info(cluster) if spec.provide_cluster_info else None,
    )


def _cluster_info(cluster: Found[Cluster]) -> dict[str, Any]:
    value = cluster.value
    authority = _authority(cluster) or b""
    extensions = {each.name: each.extension for each in value.extensions or ()}
    info = {
        "server": value.server,
        "tls-server-name": value.tls_server_name,
        "insecure-skip-tls-verify": value.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(authority).decode(),
        "proxy-url": value.proxy_url,
        "config": extensions.get(EXEC_EXTENSION),
    }
    return {name: content for name, content in info.items() if content}
