"""An OpenStack cloud in the lab: one ControlPlane object, and a server to try it with."""
