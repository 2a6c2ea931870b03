"""Lab providers beside a lab of a test, and the images of their servers on its nodes."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from cobaltcore.lab import containers, process
from cobaltcore.lab.providers import provider
from tests.support.lab import Lab, eventually, run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "providers"


def load_images(lab: Lab, names: Sequence[str]) -> dict[str, str]:
    """Build images unless they are up to date, give them to all nodes; return their references."""
    _cobalt(lab, "images", "build", "--quiet", *names)
    listed = json.loads(_cobalt(lab, "images", "list", "-o", "json"))
    found = {}
    for name in names:
        archive = lab.root / f"{name}.tar"
        _cobalt(lab, "images", "save", str(archive), name)
        for node in lab.place.machines():
            containers.load(node, archive)
        archive.unlink()
        (image,) = (i for i in listed["images"] if i["repository"].endswith(f"/{name}"))
        found[name] = f"{image['repository']}:{image['tags'][0]}"
    return found


@contextmanager
def running(lab: Lab, *names: str) -> Iterator[dict[str, str]]:
    """Run providers on the host, as `cobalt up` does; gives the references of their images."""
    images = load_images(lab, names)
    arguments = [
        "providers",
        *names,
        *(f"--image={name}={reference}" for name, reference in images.items()),
        f"--kubeconfig={lab.place.kubeconfig}",
        "--health-port=0",
    ]
    log = lab.root / "providers.log"
    child = process.Child("providers", _command(*arguments), log, lab.environment)
    child.start()
    try:
        eventually(lambda: _are_served(lab, names), f"kinds of {', '.join(names)} are served")
        yield images
    finally:
        child.stop()


def example(name: str) -> list[dict[str, Any]]:
    """The objects of an example."""
    return list(yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text()))


def wait_for(lab: Lab, namespace: str, kind: str, name: str, *, condition: str = "Ready") -> None:
    """Wait until the newest form of an object is reported to be in a condition."""

    def holds() -> bool:
        found = lab.get(kind, "-n", namespace, name)
        status = found.get("status", {})
        return any(
            each["type"] == condition
            and each["status"] == "True"
            and found["metadata"]["generation"]
            in (each.get("observedGeneration"), status.get("observedGeneration"))
            for each in status.get("conditions", ())
        )

    eventually(holds, f"{kind} {name} {condition}")


def _are_served(lab: Lab, names: Sequence[str]) -> bool:
    known = provider.discover()
    kinds = {f"crd/{kind.plural}.{kind.group}" for name in names for kind in known[name].kinds}
    return bool(lab.attempt("wait", "--for=condition=Established", *sorted(kinds)))


def _cobalt(lab: Lab, *arguments: str) -> str:
    return run(_command(*arguments), lab.environment)


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "cobaltcore.cli.main", *arguments]
