"""barbican.conf and the pipelines of the API. Pure."""

from cobaltcore.api.barbican import BarbicanSpec
from cobaltcore.engine import oslo
from cobaltcore.engine.definition import Config, ServiceScope
from cobaltcore.engine.desired import inifile
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.services.barbican.steps import kek

PIPELINES: Sections = {
    "composite:main": {
        "use": "egg:Paste#urlmap",
        "/": "versions",
        "/healthcheck": "healthcheck",
        "/v1": "api",
    },
    "pipeline:versions": {"pipeline": "cors http_proxy_to_wsgi microversion version-app"},
    "pipeline:api": {"pipeline": "cors http_proxy_to_wsgi authtoken context microversion api-app"},
    "app:version-app": {"paste.app_factory": "barbican.api.app:create_version_app"},
    "app:api-app": {"paste.app_factory": "barbican.api.app:create_main_app"},
    "app:healthcheck": {"paste.app_factory": "oslo_middleware:Healthcheck.app_factory"},
    "filter:cors": {
        "paste.filter_factory": "oslo_middleware.cors:filter_factory",
        "oslo_config_project": "barbican",
    },
    "filter:http_proxy_to_wsgi": {
        "paste.filter_factory": "oslo_middleware:HTTPProxyToWSGI.factory"
    },
    "filter:authtoken": {"paste.filter_factory": "keystonemiddleware.auth_token:filter_factory"},
    "filter:context": {
        "paste.filter_factory": "barbican.api.middleware.context:ContextMiddleware.factory"
    },
    "filter:microversion": {
        "paste.filter_factory": (
            "barbican.api.middleware.microversion:MicroversionMiddleware.factory"
        )
    },
}
"""The pipelines of the package; the program has their path fixed in the directory of ours."""


def render(scope: ServiceScope[BarbicanSpec]) -> Config:
    """The configuration of the API and the workers."""
    has_workers = scope.spec.messaging is not None
    plugin = scope.spec.secret_store.plugin
    options = inifile.merge(
        oslo.shared_options(scope),
        oslo.database_options(),
        oslo.messaging_options(scope) if has_workers else {},
        oslo.token_options(scope),
        {
            # References of secrets have the host that the client has asked.
            "DEFAULT": {"host_href": ""},
            "queue": {"enable": "true" if has_workers else "false"},
            "secretstore": {"enabled_secretstore_plugins": "store_crypto"},
            "crypto": {"enabled_crypto_plugins": plugin},
        },
        scope.spec.extra_config,
    )
    return Config(
        files={
            "barbican.conf": inifile.render(options),
            "barbican-api-paste.ini": inifile.render(PIPELINES),
        },
        secrets=inifile.merge(
            oslo.backend_secrets(scope),
            oslo.token_secrets(scope),
            {f"{plugin}_plugin": {"kek": kek.value(scope)}},
        ),
    )
