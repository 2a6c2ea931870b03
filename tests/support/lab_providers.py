"""Lab providers deployed by `cobalt up`, and images of their servers."""

import base64
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from tests.support.lab import Lab, eventually, run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "providers"


def images(lab: Lab, names: Iterable[str]) -> dict[str, str]:
    """References of images that nodes can pull; outdated ones are rebuilt."""
    wanted = list(names)
    _cobalt(lab, "images", "build", "--quiet", *wanted)
    listed = json.loads(_cobalt(lab, "images", "list", "-o", "json"))
    found = {}
    for name in wanted:
        (image,) = (i for i in listed["images"] if i["repository"].endswith(f"/{name}"))
        found[name] = f"{image['repository']}@{image['digest']}"
    return found


def example(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text()))


def wait_for(lab: Lab, namespace: str, kind: str, name: str, *, condition: str = "Ready") -> None:
    """Wait until a condition is True for the current generation of an object."""

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


def set_password(lab: Lab, namespace: str, secret: str, password: str) -> None:
    """Change the key `password` of a Secret."""
    encoded = base64.b64encode(password.encode()).decode()
    patch = json.dumps({"data": {"password": encoded}})
    lab.kubectl("patch", "secret", "-n", namespace, secret, "--patch", patch)


def _cobalt(lab: Lab, *arguments: str) -> str:
    return run([sys.executable, "-m", "cobaltcore.cli.main", *arguments], lab.environment)
