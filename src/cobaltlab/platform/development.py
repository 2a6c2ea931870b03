"""`cobalt up --dev`: operators and providers from the source tree, as host processes with the same RBAC."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

import cobaltcore
import cobaltimages
import cobaltlab
from cobaltlab import hostprocess, kubeconfigs, nodeconfig, record, statedir, subnets
from cobaltlab.platform import rbac, workloads

HEALTH_PORTS = {rbac.OPERATORS: 8081, rbac.PROVIDERS: 8082}

_MAIN = "cobaltcore.cli.main"


def start(
    state_dir: statedir.StateDir, instance: record.Instance, servers: Mapping[str, str]
) -> list[str]:
    """Declare both as host processes; return the names of those that were (re)started."""
    digest = source_digest()
    plan = subnets.Subnets(instance.index)
    changed = []
    for account, words in _commands(plan, servers):
        common = [
            f"--kubeconfig={_kubeconfig(state_dir, account)}",
            f"--health-host={plan.host}",
            f"--health-port={HEALTH_PORTS[account]}",
        ]
        process = hostprocess.HostProcess(
            module=_MAIN,
            arguments=[*words, *common],
            resolver=resolver(plan),
            source_digest=digest,
        )
        if hostprocess.declare(state_dir.directory, account, process):
            changed.append(account)
    return changed


def stop(state_dir: statedir.StateDir) -> None:
    for account in HEALTH_PORTS:
        hostprocess.remove(state_dir.directory, account)


def health_url(plan: subnets.Subnets, account: str) -> str:
    """The readiness endpoint of a host process."""
    return f"http://{plan.host}:{HEALTH_PORTS[account]}/readyz"


def source_digest() -> str:
    """Digest of the source of all packages that the processes import."""
    digest = hashlib.sha256()
    for package in (cobaltcore, cobaltimages, cobaltlab):
        root = Path(next(iter(package.__path__)))
        for path in sorted(root.rglob("*.py")):
            digest.update(f"{path.relative_to(root.parent)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def resolver(plan: subnets.Subnets) -> str:
    """The resolv.conf of a pod in the namespace of the operators."""
    domain = nodeconfig.DOMAIN
    search = f"{rbac.NAMESPACE}.svc.{domain} svc.{domain} {domain}"
    return f"nameserver {plan.dns}\nsearch {search}\noptions ndots:5\n"


def _commands(
    plan: subnets.Subnets, servers: Mapping[str, str]
) -> Iterator[tuple[str, list[str]]]:
    url = f"https://{plan.host}:{workloads.WEBHOOK_PORT}"
    port = f"--webhook-port={workloads.WEBHOOK_PORT}"
    images = [f"--image={name}={reference}" for name, reference in sorted(servers.items())]
    yield rbac.PROVIDERS, ["providers", *images]
    yield rbac.OPERATORS, ["run", f"--webhook-url={url}", port]


def _kubeconfig(state_dir: statedir.StateDir, account: str) -> Path:
    """The administrator's kubeconfig with impersonation of a ServiceAccount."""
    content: dict[str, Any] = yaml.safe_load(state_dir.kubeconfig.read_text())
    content["users"][0]["user"]["as"] = rbac.user_name(account)
    content["contexts"][0]["context"]["namespace"] = rbac.NAMESPACE
    path = state_dir.kubeconfig.with_name(f"{account}.kubeconfig")
    kubeconfigs.write(path, content)
    return path
