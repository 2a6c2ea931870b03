"""Programs that run in the toolbox pod, with OpenStack's client library and no import of ours."""
