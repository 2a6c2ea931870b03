"""Nodes of the graph for OpenStack services, from their definitions. Pure."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from cobaltcore.api.blocks import NamespacedRef
from cobaltcore.engine.definition import AnyService
from cobaltcore.engine.desired import names
from cobaltcore.engine.graph import Node
from cobaltcore.engine.part import Parent
from cobaltcore.operators.controlplane import available, ceph, infrastructure, ovn, sharing, users
from cobaltcore.operators.controlplane.view import View, is_ready, reports
from cobaltcore.runtime.meta import Desired


def nodes() -> Iterator[Node[View]]:
    """Credentials of the services that need them, then the services."""
    for service in available.with_user():
        yield _credentials(service)
    for service in available.all_services():
        yield _node(service)


def parent(view: View, service: AnyService) -> Parent[Any]:
    settings = view.toggle(service.name)
    common = {"image": sharing.image(view, service.name), **sharing.shared(view, settings)}
    if available.part_of(service).roles:
        common["keystone"] = sharing.login(view, service.name)
    return Parent(
        service=service.name,
        namespace=view.namespace,
        spec=view.spec,
        settings=settings,
        common=common,
        rbd=ceph.rbd(view, service) if available.part_of(service).ceph else None,
        ovn=view.spec.infrastructure.ovn.cluster_ref
        or NamespacedRef(name=ovn.NAME, namespace=view.namespace),
        enabled=lambda name: view.toggle(name).enabled,
    )


def _objects(service: AnyService, view: View) -> Iterator[Desired]:
    """Logins and generated Secrets, and the service's object."""
    name, part = service.name, available.part_of(service)
    yield infrastructure.login(view, names.database_secret(name), name)
    if part.uses_messaging:
        yield infrastructure.login(view, names.messaging_secret(name), name)
    for secret in part.secrets:
        further = {"username": secret.username} if secret.username else {}
        yield infrastructure.password(view, secret.name, secret.key, **further)
    spec = part.project(parent(view, service))
    yield view.child(service.kind, name, spec, name)


def _credentials(service: AnyService) -> Node[View]:
    roles = available.part_of(service).roles
    return Node(
        f"{service.name}-credentials",
        "Catalog",
        lambda view: users.objects(view, service.name, roles),
        lambda view: users.ready(view, service.name, roles),
        needs=("korc",),
        enabled_if=partial(available.is_on, service),
    )


def _node(service: AnyService) -> Node[View]:
    part = available.part_of(service)
    backing = ("mariadb", "memcached")
    needs = part.needs
    if part.roles:
        credentials = f"{service.name}-credentials"
        needs = (*backing, "trust", "catalogue", credentials, *part.needs)
    return Node(
        service.name,
        part.phase,
        partial(_objects, service),
        lambda view: is_ready(view, service.kind, service.name),
        needs=needs,
        # Databases are migrated while others still work on Keystone.
        start_after=backing if part.roles else None,
        enabled_if=partial(available.is_on, service),
        serves=lambda view: reports(view, service.kind, service.name, "APIReady"),
    )
