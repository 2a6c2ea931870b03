"""An OpenStack cloud in the lab: one ControlPlane object and a demo server."""
