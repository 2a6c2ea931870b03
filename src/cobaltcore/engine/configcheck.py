"""Options and access rules of users, tried by the service's own code before any program reads them.

Pure. The Job runs in the image that the programs will run, so its names, types, ranges and choices
are those of the release.
"""

from cobaltcore.engine import configuration, jobs
from cobaltcore.engine.definition import AnyScope, Result, Task
from cobaltcore.engine.verdict import Ready

REFUSED = "ConfigInvalid: "


def checked(scope: AnyScope) -> Result:
    """Nothing to try where the whole configuration is the operator's."""
    service, extra = scope.service, scope.spec.extra_config or {}
    options = [f"{section}/{option}" for section in sorted(extra) for option in extra[section]]
    rules = configuration.policy_rules(scope)
    if not options and not rules:
        return Result(Ready("Rendered"))
    task = Task(
        "config-check",
        ("cobalt-agent", "config", "check", service.name, service.config_dir, *options),
        inputs=[scope.image, extra, rules],
        offline=True,
        refusal=REFUSED,
    )
    ran = jobs.run_once(scope, task, running="CheckingConfig")
    if isinstance(ran.verdict, Ready):
        count = f"{len(options)} options and {len(rules)} policy rules of the spec are valid"
        return Result(Ready("Checked", count), ran.objects)
    return ran
