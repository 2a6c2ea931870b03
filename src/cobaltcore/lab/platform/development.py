"""Operators and providers from the source tree, as processes on the host with the same rights."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

import cobaltcore
from cobaltcore.lab import home, hosted, nodeconfig, ranges, record
from cobaltcore.lab.platform import accounts, workloads
from cobaltcore.runtime import files

HEALTH_PORTS = {accounts.OPERATORS: 8081, accounts.PROVIDERS: 8082}

_MAIN = "cobaltcore.cli.main"


def start(place: home.Home, instance: record.Instance, servers: Mapping[str, str]) -> list[str]:
    """Have both run as the source is now; return the names of those that were (re)started."""
    code = source_digest()
    plan = ranges.Ranges(instance.index)
    changed = []
    for account, words in _commands(plan, servers):
        common = [
            f"--kubeconfig={_kubeconfig(place, account)}",
            f"--health-host={plan.host}",
            f"--health-port={HEALTH_PORTS[account]}",
        ]
        program = hosted.Program(
            module=_MAIN, arguments=[*words, *common], resolver=resolver(plan), code=code
        )
        if hosted.describe(place.directory, account, program):
            changed.append(account)
    return changed


def stop(place: home.Home) -> None:
    """Have neither run."""
    for account in HEALTH_PORTS:
        hosted.forget(place.directory, account)


def health_url(plan: ranges.Ranges, account: str) -> str:
    """Where a process says whether it is ready."""
    return f"http://{plan.host}:{HEALTH_PORTS[account]}/readyz"


def source_digest() -> str:
    """Differs whenever the source does."""
    root = Path(next(iter(cobaltcore.__path__)))
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def resolver(plan: ranges.Ranges) -> str:
    """What a pod of the platform's namespace has as resolv.conf."""
    domain = nodeconfig.DOMAIN
    search = f"{accounts.NAMESPACE}.svc.{domain} svc.{domain} {domain}"
    return f"nameserver {plan.dns}\nsearch {search}\noptions ndots:5\n"


def _commands(plan: ranges.Ranges, servers: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    url = f"https://{plan.host}:{workloads.WEBHOOK_PORT}"
    port = f"--webhook-port={workloads.WEBHOOK_PORT}"
    given = [f"--image={name}={reference}" for name, reference in sorted(servers.items())]
    yield accounts.PROVIDERS, ["providers", *given]
    yield accounts.OPERATORS, ["run", f"--webhook-url={url}", port]


def _kubeconfig(place: home.Home, account: str) -> Path:
    """The administrator's kubeconfig, speaking as the account."""
    content: dict[str, Any] = yaml.safe_load(place.kubeconfig.read_text())
    content["users"][0]["user"]["as"] = accounts.user(account)
    content["contexts"][0]["context"]["namespace"] = accounts.NAMESPACE
    path = place.kubeconfig.with_name(f"{account}.kubeconfig")
    files.replace(path, yaml.safe_dump(content, sort_keys=False).encode(), mode=0o600)
    return path
