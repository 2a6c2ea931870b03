"""The termination message of a container, which the kubelet shows in the pod's status."""

from pathlib import Path

TERMINATION_MESSAGE = Path("/dev/termination-log")


def write(text: str) -> None:
    """Leave a message, a result or the reason of a failure, for the operator to read."""
    TERMINATION_MESSAGE.write_text(text)
