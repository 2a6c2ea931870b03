"""The page about accounts: what each operator may do, from the same rights as its role. Pure."""

from collections.abc import Iterable, Iterator

from cobaltcore.deploy import processes, rbac
from cobaltcore.deploy.processes import OperatorProcess
from cobaltcore.runtime.meta import Kind

_HEAD = """# Accounts

What the ServiceAccount of each operator may do with objects of Kubernetes (`cobalt manifests`, [install](../install.md)); [security](../security.md) has the
reasons. Verbs are those of RBAC: a kind that is written is also read. All of them create Events and keep one Lease.

| Account | Updates spec and status of | Creates, changes, deletes | Only reads |
| --- | --- | --- | --- |
"""
_TAIL = """
With `--watch-namespace` all of this holds in one namespace, but for what has no namespace:

| Account | Cluster-wide |
| --- | --- |
"""


def page() -> str:
    """The whole page."""
    found = processes.one_each()
    rows = "".join(map(_row, found))
    return _HEAD + rows + _TAIL + "".join(map(_wide_row, found))


def _row(process: OperatorProcess) -> str:
    served, created, read = _kinds(process)
    cells = (_words(served), _words(created), _words(read - served - created))
    return f"| `{process.name}` | {' | '.join(cells)} |\n"


def _wide_row(process: OperatorProcess) -> str:
    found = list(_wide(process))
    return f"| `{process.name}` | {', '.join(found) or 'nothing'} |\n"


def _wide(process: OperatorProcess) -> Iterator[str]:
    served, created, read = _kinds(process)
    for kind in sorted(served | created | read, key=lambda each: each.kind):
        if not kind.namespaced:
            yield f"{'writes' if kind in served | created else 'reads'} {kind.kind}"
    for rule in (rule for each in process.operators for rule in each.extra):
        yield f"{', '.join(rule.verbs)} of {', '.join(rule.resources)}"
    if process.webhook_service:
        yield "keeps its webhook configurations, by name"


def _kinds(process: OperatorProcess) -> tuple[set[Kind], set[Kind], set[Kind]]:
    served = {kind for each in process.operators for kind in each.rights.serves}
    created = {kind for each in process.operators for kind in each.rights.creates}
    read = {kind for each in process.operators for kind in rbac.kinds_watched_by(each)}
    return served, created, read


def _words(kinds: Iterable[Kind]) -> str:
    """Kinds by their API group; those of the core group have none."""
    groups: dict[str, list[str]] = {}
    for each in sorted(kinds, key=lambda kind: (kind.group, kind.kind)):
        groups.setdefault(each.group, []).append(each.kind)
    found = (
        f"{', '.join(names)} ({group})" if group else ", ".join(names)
        for group, names in groups.items()
    )
    return "; ".join(found) or "none"
