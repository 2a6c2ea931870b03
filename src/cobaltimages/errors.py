"""What can go wrong on the machine that builds images, as sentences for people."""

from cobaltcore.runtime import errors


class HostError(errors.RuntimeFault):
    """Something on this machine prevents the build; `hint` is what the user can do about it."""
