"""What can go wrong on the machine that runs the lab, as sentences for people."""

from cobaltcore.runtime import errors


class LabError(errors.RuntimeFault):
    """Something on this machine stands in the way; `hint` tells what to do about it."""
