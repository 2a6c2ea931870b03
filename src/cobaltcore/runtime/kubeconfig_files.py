"""Kubeconfig files: their fields, and how several are merged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import yaml

from cobaltcore.runtime import errors
from cobaltcore.runtime.meta import Struct

T = TypeVar("T")


class _Entry(Struct, rename="kebab"):
    """Part of a kubeconfig file; unknown fields are ignored."""


class Extension(_Entry):
    """Extension data of other programs."""

    name: str = ""
    extension: Any = None


class Cluster(_Entry):
    """Address and CA of an API server."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    extensions: list[Extension] | None = None


class Variable(_Entry):
    """One environment variable of an exec plugin."""

    name: str
    value: str = ""


class Exec(_Entry, rename="camel"):
    """An exec plugin for credentials."""

    api_version: str
    command: str
    args: list[str] | None = None
    env: list[Variable] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"


class User(_Entry):
    """Credentials of a user."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(name="tokenFile", default="")
    as_user: str = msgspec.field(name="as", default="")
    as_uid: str = ""
    as_groups: list[str] | None = None
    as_user_extra: dict[str, list[str]] | None = None
    username: str = ""
    auth_provider: Any = None
    exec: Exec | None = None


class Context(_Entry):
    """A cluster, a user and a namespace under one name."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(_Entry):
    name: str
    cluster: Cluster = Cluster()


class _NamedUser(_Entry):
    name: str
    user: User = User()


class _NamedContext(_Entry):
    name: str
    context: Context = Context()


class _File(_Entry):
    current_context: str = ""
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """An entry and its file; relative paths in it start from the file's directory."""

    kind: str
    name: str
    value: T
    file: Path

    def path(self, text: str) -> Path:
        return self.file.parent / text

    def fault(self, what: str, hint: str) -> errors.ConfigError:
        """An error that names the entry and the file."""
        return errors.ConfigError(f'{self.kind} "{self.name}" in {self.file}: {what}', hint=hint)


@dataclass(frozen=True, slots=True)
class Merged:
    """All files as one."""

    files: Sequence[Path]
    current: str
    clusters: Mapping[str, Found[Cluster]]
    users: Mapping[str, Found[User]]
    contexts: Mapping[str, Found[Context]]


def parse(file: Path) -> tuple[Path, _File]:
    """Read one file; raise ConfigError if it is invalid."""
    hint = "fix the file, or write it again with: kubectl config view --raw"
    try:
        raw = yaml.safe_load(file.read_bytes())
    except OSError as error:
        raise errors.ConfigError(
            f"{file} cannot be read: {error.strerror}", hint="check the path and its permissions"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise errors.ConfigError(f"{file} is not YAML{where}", hint=hint) from error
    try:
        return file, msgspec.convert(raw or {}, _File)
    except msgspec.ValidationError as error:
        raise errors.ConfigError(f"{file} is not a kubeconfig: {error}", hint=hint) from error


def merge(parsed: Sequence[tuple[Path, _File]]) -> Merged:
    """Merge files; of entries with the same name the first one is used."""
    clusters: dict[str, Found[Cluster]] = {}
    users: dict[str, Found[User]] = {}
    contexts: dict[str, Found[Context]] = {}
    for path, file in parsed:
        for cluster in file.clusters or ():
            found = Found("cluster", cluster.name, cluster.cluster, path)
            clusters.setdefault(cluster.name, found)
        for user in file.users or ():
            users.setdefault(user.name, Found("user", user.name, user.user, path))
        for entry in file.contexts or ():
            contexts.setdefault(entry.name, Found("context", entry.name, entry.context, path))
    current = next((file.current_context for _, file in parsed if file.current_context), "")
    return Merged([path for path, _ in parsed], current, clusters, users, contexts)
