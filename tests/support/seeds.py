"""The example objects of the requirements, where those texts are at hand."""

import re
from pathlib import Path
from typing import Any

import yaml

from tests.support import objects

FOLDER = Path(__file__).resolve().parent.parent.parent.parent / "shared" / "seeds"


def documents() -> list[dict[str, Any]]:
    """Every YAML document of one of our kinds, in order; empty without the texts."""
    found = []
    for text in sorted(FOLDER.glob("*.txt")):
        for block in re.findall(r"```ya?ml\n(.*?)```", text.read_text(), re.DOTALL):
            found += [each for each in yaml.safe_load_all(block) if objects.is_ours(each or {})]
    return found
