"""Layered options to the text of an INI file, the same text for the same options. Pure."""

from collections.abc import Mapping
from typing import TypeAlias

Section: TypeAlias = Mapping[str, str]
Sections: TypeAlias = Mapping[str, Section]


def merge(*layers: Sections | None) -> dict[str, dict[str, str]]:
    """Put layers on top of each other, option by option; later ones win."""
    merged: dict[str, dict[str, str]] = {}
    for layer in layers:
        for section, options in (layer or {}).items():
            merged.setdefault(section, {}).update(options)
    return merged


def render(sections: Sections) -> str:
    """Sections sorted by name, options sorted within them, a blank line between sections."""
    blocks = [
        "\n".join([f"[{name}]", *(f"{key} = {value}" for key, value in sorted(options.items()))])
        for name, options in sorted(sections.items())
        if options
    ]
    return "\n\n".join(blocks) + "\n"
