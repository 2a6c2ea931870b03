"""Programs that run once in a pod of a control plane: standard library only, no import of ours."""
