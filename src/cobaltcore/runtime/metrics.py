"""Figures about the runtime itself, in Prometheus form."""

from prometheus_client import CollectorRegistry, Gauge

from cobaltcore.runtime.counting import Counts, Histogram

REGISTRY = CollectorRegistry()

API_REQUESTS = Counts(
    "cobalt_api_requests", "Requests sent to API servers", ["verb", "kind"], registry=REGISTRY
)
QUEUE_DEPTH = Gauge(
    "cobalt_queue_depth", "Keys that wait for a worker", ["controller"], registry=REGISTRY
)
PASSES = Counts(
    "cobalt_passes", "Finished passes by outcome", ["controller", "outcome"], registry=REGISTRY
)
PASS_SECONDS = Histogram(
    "cobalt_pass_seconds",
    "Duration of passes",
    ["controller"],
    bounds=(0.001, 0.005, 0.025, 0.1, 0.5, 2, 10, 60),
    registry=REGISTRY,
)
WATCH_SEEN = Gauge(
    "cobalt_watch_last_seen_timestamp_seconds",
    "When an informer last heard from its watch",
    ["cluster", "kind"],
    registry=REGISTRY,
)
WATCH_RESTARTS = Counts(
    "cobalt_watch_restarts", "Watches opened again", ["cluster", "kind"], registry=REGISTRY
)
LEADER = Gauge(
    "cobalt_leader", "1 while this process holds the lease", ["lease"], registry=REGISTRY
)
