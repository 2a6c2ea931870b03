"""Prometheus metrics of the runtime."""

from prometheus_client import CollectorRegistry, Gauge

from cobaltcore.runtime.counting import Counts, Histogram

REGISTRY = CollectorRegistry()

API_REQUESTS = Counts(
    "cobalt_api_requests", "Requests sent to API servers", ["verb", "kind"], registry=REGISTRY
)
QUEUE_DEPTH = Gauge(
    "cobalt_queue_depth", "Keys that wait for a worker", ["controller"], registry=REGISTRY
)
RECONCILES = Counts(
    "cobalt_reconciles",
    "Finished reconciles by outcome",
    ["controller", "outcome"],
    registry=REGISTRY,
)
RECONCILE_SECONDS = Histogram(
    "cobalt_reconcile_seconds",
    "Duration of reconciles",
    ["controller"],
    bounds=(0.001, 0.005, 0.025, 0.1, 0.5, 2, 10, 60),
    registry=REGISTRY,
)
WATCH_SEEN = Gauge(
    "cobalt_watch_last_seen_timestamp_seconds",
    "When an informer last received a watch event",
    ["cluster", "kind"],
    registry=REGISTRY,
)
WATCH_RESTARTS = Counts(
    "cobalt_watch_restarts", "Watches opened again", ["cluster", "kind"], registry=REGISTRY
)
OBJECT_ERRORS = Counts(
    "cobalt_object_errors",
    "Objects that could not be decoded, indexed or handled",
    ["kind", "step"],
    registry=REGISTRY,
)
LEADER = Gauge(
    "cobalt_leader", "1 while this process holds the lease", ["lease"], registry=REGISTRY
)
