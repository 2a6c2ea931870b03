"""The webhook server of `cobalt run`, as its arguments say."""

import argparse
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from cobaltcore.cli import errors, process
from cobaltcore.deploy import rbac
from cobaltcore.runtime.admission import Webhooks
from cobaltcore.runtime.manager import Server
from cobaltcore.runtime.meta import Key
from cobaltcore.runtime.webhook import Endpoint, WebhookServer
from cobaltcore.runtime.webhook_objects import Service
from cobaltcore.runtime.webhook_service import Registration, WebhookService


def server(
    arguments: argparse.Namespace, session: process.Session, table: Webhooks, name: str
) -> Server:
    directory: Path | None = arguments.webhook_certificates
    if directory is not None:
        endpoint = Endpoint(
            directory / "tls.crt", directory / "tls.key", port=arguments.webhook_port
        )
        return WebhookServer(table, endpoint)
    registration = _registration(arguments, name, process.namespace(arguments, session))
    watched: str = arguments.watch_namespace
    if watched:
        registration = replace(registration, name=f"{name}.{watched}", namespace=watched)
    registration = replace(registration, owner=rbac.webhook_role_name(registration.name))
    return WebhookService(session.client, table, registration, port=arguments.webhook_port)


def _registration(arguments: argparse.Namespace, name: str, own_namespace: str) -> Registration:
    secret = Key(own_namespace, f"{name}-webhooks")
    if arguments.webhook_url:
        host = urlsplit(arguments.webhook_url).hostname
        if not arguments.webhook_url.startswith("https://") or not host:
            raise errors.CommandError(
                f'--webhook-url "{arguments.webhook_url}" is not of the form https://HOST:PORT'
            )
        return Registration(name, arguments.webhook_url, [host], secret)
    namespace, slash, service = arguments.webhook_service.partition("/")
    if not (namespace and slash and service):
        raise errors.CommandError(
            f'--webhook-service "{arguments.webhook_service}" is not of the form NAMESPACE/NAME'
        )
    hosts = [f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local"]
    return Registration(name, Service(namespace, service), hosts, secret)
