"""Errors of the lab, as messages for users."""

from cobaltimages.errors import HostError


class LabError(HostError):
    """The lab cannot run or be changed; `hint` is what to do."""
