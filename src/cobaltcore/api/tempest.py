"""Tempest: recurring tests of the whole cloud."""

from typing import Annotated, ClassVar, Literal

import msgspec

from cobaltcore.api.base import (
    AGE,
    READY,
    Column,
    Duration,
    Meta,
    Resource,
    Rule,
    Struct,
    Timestamp,
    list_set,
    resource,
)
from cobaltcore.api.blocks import Conditions, Dependencies, Image, KeystoneAuth
from cobaltcore.api.cron import Cron
from cobaltcore.api.options import ExtraConfig
from cobaltcore.api.pods import PodSettings, PullSecrets
from cobaltcore.runtime.meta import Kind

KIND = Kind("tempest.openstack.c5c3.io", "v1alpha1", "Tempest", "tempests")
Service = Literal["compute", "identity", "image", "network", "object-store", "volume"]
Regex = Annotated[str, Meta(min_length=1, max_length=4096)]


class Tests(Struct):
    """What a run consists of."""

    services: Annotated[list[Service], Meta(min_length=1, max_length=6), list_set()] = (
        msgspec.field(
            default_factory=lambda: ["compute", "network", "volume", "image", "identity"]
        )
    )
    """Services whose tests run."""
    concurrency: Annotated[int, Meta(ge=1, le=64)] = 4
    """Tests that run at the same time."""
    include_regex: Regex | None = None
    """Only tests whose name matches run. Unset: all of the services."""
    exclude_regex: Regex | None = None
    """Tests whose name matches are left out."""


class TempestSpec(PodSettings):
    """Desired test runs."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!self.suspend || has(self.schedule)",
            "suspend: needs a schedule to suspend",
            "suspend",
        ),
    )

    schedule: Cron | None = None
    """When tests run, as a cron schedule in UTC. Unset: once, and again when this spec changes."""
    suspend: bool = False
    """Stop scheduled runs."""
    image: Image
    """Container image of Tempest."""
    image_pull_secrets: PullSecrets | None = None
    """Credentials of the registries that the image comes from."""
    keystone: KeystoneAuth
    """How Tempest authenticates with Keystone."""
    tests: Tests = Tests()
    """What a run consists of."""
    timeout: Duration = "4h"
    """How long a run may take before it is stopped and counted as failed."""
    extra_config: ExtraConfig | None = None
    """Options for tempest.conf: section to option to value."""
    depends_on: Dependencies | None = None
    """Conditions of other objects that must be True before tests run."""


class Results(Struct):
    """Counts of a run."""

    passed_tests: int | None = None
    """Tests that passed."""
    failed_tests: int | None = None
    """Tests that failed."""
    skipped_tests: int | None = None
    """Tests that were skipped."""
    total_tests: int | None = None
    """All tests of the run."""
    failures: Annotated[list[str], Meta(max_length=50)] = []
    """Names of failed tests, 50 at most."""


class TempestStatus(Struct):
    """The last test run."""

    conditions: Conditions = []
    """Conditions of the runs; TestsPassed has the result of the last one."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    last_run: Timestamp | None = None
    """When the last run started."""
    last_duration: str | None = None
    """How long the last run took, for example 45m12s."""
    results: Results | None = None
    """Counts of the last run."""


@resource(
    KIND,
    short_names=("tmp",),
    columns=(
        READY,
        Column("Passed", '.status.conditions[?(@.type=="TestsPassed")].status'),
        Column("Failed", ".status.results.failedTests", "integer"),
        Column("Last run", ".status.lastRun", "date"),
        AGE,
    ),
)
class Tempest(Resource[TempestSpec, TempestStatus]):
    """Tempest, the recurring test of a cloud through its APIs, with the results in the status."""
