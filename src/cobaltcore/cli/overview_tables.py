"""The tables of `cobalt status`."""

from cobaltcore.cli import output
from cobaltcore.cli.overview import Overview, State
from cobaltcore.runtime.text import shortened

LONGEST = 100


def show(found: Overview) -> None:
    """Print what there is."""
    for header, rows in _tables(found):
        if rows:
            output.table(header, rows)
            output.data("")
    if not found.control_planes:
        output.note("no control plane; create one: kubectl apply -f examples/controlplane.yaml")


def _tables(found: Overview) -> list[tuple[list[str], list[list[str]]]]:
    return [
        (
            ["NAMESPACE", "CONTROL PLANE", "STATE", "PROGRESS", "RELEASE", "BLOCKER"],
            [
                [p.namespace, p.name, _state(p), p.progress, p.release, _short(p.message)]
                for p in found.control_planes
            ],
        ),
        (
            ["NAMESPACE", "OPERATORS", "STATE", "PODS", "MESSAGE"],
            [
                [o.namespace, o.name, _state(o), f"{o.ready_pods}/{o.pods}", _short(o.message)]
                for o in found.operators
            ],
        ),
        (
            ["NAMESPACE", "SERVICE", "STATE", "VERSION", "PODS", "ENDPOINT", "MESSAGE"],
            [
                [
                    s.namespace,
                    f"{s.kind}/{s.name}",
                    _state(s),
                    s.version,
                    f"{s.ready_pods}/{s.pods}",
                    s.endpoint,
                    _short(s.message),
                ]
                for s in found.services
            ],
        ),
        (
            ["HYPERVISOR", "STATE", "PODS", "MESSAGE"],
            [
                [h.name, _state(h), f"{h.ready_pods}/{h.pods}", _short(h.message)]
                for h in found.hypervisors
            ],
        ),
        (
            ["NAMESPACE", "SERVERS", "IN ERROR", "MESSAGE"],
            [
                [s.namespace, _number(s.number), _number(s.failed), _short(s.message)]
                for s in found.servers
            ],
        ),
        (
            ["NAMESPACE", "PUBLIC ENDPOINT OF", "STATE", "URL", "MESSAGE"],
            [
                [e.namespace, e.service, _state(e), e.url, _short(e.message)]
                for e in found.endpoints
                if e.interface == "public"
            ],
        ),
        (
            ["NAMESPACE", "EXPIRES SOON", "AT", "STATE"],
            [
                [e.namespace, f"{e.kind}/{e.name}", e.at, "Expired" if e.expired else "Valid"]
                for e in found.expiries
            ],
        ),
        (
            ["NAMESPACE", "WARNING ABOUT", "AT", "REASON", "MESSAGE"],
            [
                [w.namespace, w.object, w.at[:19], w.reason, _short(w.message)]
                for w in found.warnings
            ],
        ),
    ]


def _number(known: int | None) -> str:
    return "unknown" if known is None else str(known)


def _state(each: State) -> str:
    return "Ready" if each.ready else "NotReady"


def _short(text: str) -> str:
    return shortened(text, LONGEST)
