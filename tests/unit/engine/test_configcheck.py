"""What users add to a configuration is tried before a program reads it."""

from typing import Any

from cobaltcore.api.foreign.kubernetes import JOB, POD
from cobaltcore.engine import chain, configcheck, steps
from cobaltcore.engine.definition import ServiceScope
from cobaltcore.engine.verdict import Ready, Waiting
from cobaltcore.runtime.meta import Object
from tests.support import planning

EXTRA = {"DEFAULT": {"cpu_allocation_ratio": "banana"}}
RULES = {"rules": {"os_compute_api:servers:index": "role:reader"}}
WHEN = "2026-01-01T00:00:00Z"


def a_scope(*, outcome: str = "", message: str = "", **changes: Any) -> ServiceScope[Any]:
    """A Nova whose check has ended in some way, or runs."""
    obj = planning.an_object("Nova", **changes)
    (job,) = configcheck.checked(planning.scope(obj)).objects
    condition = {"type": outcome, "status": "True", "lastTransitionTime": WHEN}
    status: Object = {"conditions": [condition]} if outcome else {}
    meta = {**job.body["metadata"], "uid": "a-job", "creationTimestamp": WHEN}
    done = (JOB, {"metadata": meta, "status": status})
    if not message:
        return planning.scope(obj, done)
    ended = {"terminated": {"exitCode": 1, "message": message}}
    pod: Object = {
        "metadata": {"name": "pod", "namespace": "openstack", "creationTimestamp": WHEN},
        "status": {"containerStatuses": [{"name": "x", "state": ended}]},
    }
    return planning.scope(obj, done, (POD, pod))


def test_a_configuration_of_the_operator_alone_needs_no_trial() -> None:
    found = configcheck.checked(planning.scope(planning.an_object("Nova")))
    assert (found.verdict, list(found.objects)) == (Ready("Rendered"), [])


def test_options_and_rules_are_tried_in_the_image_of_the_service() -> None:
    scope = planning.scope(planning.an_object("Nova", extraConfig=EXTRA, policyOverrides=RULES))
    found = configcheck.checked(scope)
    assert isinstance(found.verdict, Waiting)
    (job,) = found.objects
    container = job.body["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == [
        "cobalt-agent", "config", "check", "nova", "/etc/nova", "DEFAULT/cpu_allocation_ratio",
    ]  # fmt: skip


def test_another_image_is_another_trial() -> None:
    image = {"repository": "ghcr.io/c5c3/nova", "tag": "other"}
    names = {
        each.key.name
        for changes in ({}, {"image": image})
        for each in configcheck.checked(
            planning.scope(planning.an_object("Nova", extraConfig=EXTRA, **changes))
        ).objects
    }
    assert len(names) == 2


def test_programs_keep_their_configuration_while_a_new_one_is_refused() -> None:
    message = "ConfigInvalid: [DEFAULT] cpu_allocation_ratio: could not convert string to float"
    scope = a_scope(message=message, extraConfig=EXTRA, dependsOn=[])
    outcome = chain.run(scope, steps.chain(scope))
    (own,) = [each for each in outcome.conditions if each.type == "ConfigReady"]
    assert (own.status, own.reason) == ("False", "ConfigInvalid")
    assert own.message == "[DEFAULT] cpu_allocation_ratio: could not convert string to float"
    assert not outcome.complete
    pods = {key.name for kind, key in outcome.objects if kind.kind in ("Deployment", "DaemonSet")}
    assert pods == {"nova-libvirt"}


def test_a_refusal_is_final_and_another_failure_is_not() -> None:
    refused = configcheck.checked(
        a_scope(outcome="Failed", message="ConfigInvalid: [a] b: no", extraConfig=EXTRA)
    )
    assert not refused.removals
    lost = configcheck.checked(
        a_scope(outcome="Failed", message="node is gone", extraConfig=EXTRA)
    )
    assert isinstance(lost.verdict, Waiting)


def test_what_was_tried_is_reported() -> None:
    scope = a_scope(outcome="Complete", extraConfig=EXTRA, policyOverrides=RULES)
    assert configcheck.checked(scope).verdict == Ready(
        "Checked", "1 options and 1 policy rules of the spec are valid"
    )
