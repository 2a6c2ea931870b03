"""The kubectl commands that show or fix a cause. Pure."""

import shlex

from cobaltcore.engine.diagnosis.facts import Named


def kubectl(named: Named, *words: str) -> str:
    """Kubectl in the namespace of an object."""
    namespace = ("-n", named.key.namespace) if named.key.namespace else ()
    return shlex.join(["kubectl", *namespace, *words])


def describe(named: Named) -> str:
    return kubectl(named, "describe", str(named.kind), named.key.name)


def edit(named: Named) -> str:
    return kubectl(named, "edit", str(named.kind), named.key.name)


def logs(named: Named, container: str, *, previous: bool = False) -> str:
    """The output of a container."""
    before = ("--previous",) if previous else ()
    return kubectl(named, "logs", named.key.name, "-c", container, *before)
