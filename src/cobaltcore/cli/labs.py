"""What the commands for the lab share."""

import argparse
from dataclasses import asdict
from typing import Any

from cobaltcore.lab import home


def add_name(parser: argparse.ArgumentParser) -> None:
    """Let the user choose an instance."""
    parser.add_argument(
        "--name",
        default=home.DEFAULT_NAME,
        help=f"which lab, if there are several (default: {home.DEFAULT_NAME})",
    )


def fields(result: Any) -> dict[str, Any]:
    """A record as JSON has it."""
    return asdict(result)
