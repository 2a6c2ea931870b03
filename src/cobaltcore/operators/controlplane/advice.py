"""Admission warnings for fields of a ControlPlane that this release does not serve. Pure."""

from collections.abc import Iterator

from cobaltcore.runtime.meta import Object


def warnings(plane: Object) -> Iterator[str]:
    """What the user sets and nothing reads."""
    settings = plane["spec"].get("global") or {}
    if (settings.get("monitoring") or {}).get("enabled"):
        yield (
            "spec.global.monitoring.enabled is accepted but not served by this release yet: "
            "no ServiceMonitor or PrometheusRule is created"
        )
