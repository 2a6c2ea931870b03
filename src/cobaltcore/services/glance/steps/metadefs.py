"""Definitions of metadata that Glance ships, for forms of clients. Pure."""

from cobaltcore.api.glance import GlanceSpec
from cobaltcore.engine import jobs
from cobaltcore.engine.definition import Result, ServiceScope, Task
from cobaltcore.engine.desired import names
from cobaltcore.engine.verdict import Ready

DIRECTORY = f"{names.VENV}/etc/glance/metadefs"


def loaded(scope: ServiceScope[GlanceSpec]) -> Result:
    """Load those of the release; what a cloud changed in them stays."""
    command = ("glance-manage", "db", "load_metadefs", "--path", DIRECTORY, "--merge")
    task = Task("metadefs", command, inputs=scope.image, before_keystone=True)
    ran = jobs.run_once(scope, task, running="LoadingMetadataDefinitions")
    if isinstance(ran.verdict, Ready):
        return Result(Ready("MetadataDefinitionsLoaded"), ran.objects)
    return ran
