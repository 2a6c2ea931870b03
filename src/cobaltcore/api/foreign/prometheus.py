"""prometheus-operator (`monitoring.coreos.com/v1`): the fields that we set."""

import msgspec

from cobaltcore.runtime.meta import Kind, Struct

SERVICE_MONITOR = Kind("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors")
PROMETHEUS_RULE = Kind("monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules")


class LabelSelector(Struct):
    """Objects that carry all of these labels."""

    match_labels: dict[str, str] = {}


class ScrapeEndpoint(Struct):
    """A port of the Service that serves metrics."""

    port: str
    path: str | None = None
    interval: str | None = None


class ServiceMonitorSpec(Struct):
    """Services that are scraped."""

    selector: LabelSelector
    endpoints: list[ScrapeEndpoint]


class AlertRule(Struct):
    """A condition that someone should look at."""

    alert: str
    expr: str
    for_: str | None = msgspec.field(default=None, name="for")
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class RuleGroup(Struct):
    """Rules that are evaluated together."""

    name: str
    rules: list[AlertRule] = []


class PrometheusRuleSpec(Struct):
    """Groups of alerts."""

    groups: list[RuleGroup]
