"""Options of users against what programs read, when an object is written."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from cobaltcore.engine import definitions, optioncheck, options, releases
from cobaltcore.engine.options import Option, Options
from cobaltcore.operators.controlplane import options as of_planes
from cobaltcore.runtime.admission import AdmissionRequest, Decision, GroupVersionKind
from cobaltcore.runtime.meta import Object

KNOWN = Options(
    plugin_options=["user_domain_name"],
    sections={
        "DEFAULT": {
            "debug": Option(type="boolean"),
            "ratio": Option(type="float", min=0),
            "port": Option(type="integer", min=1, max=65535),
            "policy": Option(choices=["Spread", "pack", ""], ignore_case=True),
            "mode": Option(choices=["fast", "slow"]),
            "width": Option(type="integer", choices=["8", "16"]),
            "short": Option(max_length=3),
            "anything": Option(),
        },
        "token": {"expiration": Option(type="integer", min=0)},
    },
)


def refused(section: str, **configured: str) -> list[tuple[str, str]]:
    return list(options.problems(KNOWN, {section: configured}))


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("debug", "maybe", "'maybe' is not one of true, false, yes, no, on, off, 1, 0"),
        ("ratio", "banana", "'banana' is not a number"),
        ("ratio", "-0.5", "-0.5 is less than 0"),
        ("port", "1.5", "'1.5' is not an integer"),
        ("port", "65536", "65536 is greater than 65535"),
        ("policy", "spraed", "'spraed' is not one of Spread, pack"),
        ("mode", "slwo", "'slwo' is not one of fast, slow"),
        ("width", "9", "9 is not one of 8, 16"),
        ("short", "four", "has 4 characters, at most 3 are allowed"),
        ("ratioo", "x", "there is no such option, did you mean 'ratio'?"),
        ("banana", "x", "there is no such option"),
    ],
)
def test_option_that_programs_would_refuse_is_named(name: str, value: str, problem: str) -> None:
    assert refused("DEFAULT", **{name: value}) == [(f"DEFAULT.{name}", problem)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("debug", "True"),
        ("ratio", " 1e3 "),
        ("ratio", '"2.5"'),
        ("port", "$other_port"),
        ("port", ""),
        ("policy", "SPREAD"),
        ("width", "16"),
        ("any-thing", "x"),
        ("anything", "banana"),
        ("user-domain-name", "Default"),
    ],
)
def test_option_that_programs_would_accept_is_accepted(name: str, value: str) -> None:
    known = {**KNOWN.sections["DEFAULT"], "any_thing": Option()}
    accepting = Options(
        plugin_options=KNOWN.plugin_options, sections={**KNOWN.sections, "DEFAULT": known}
    )
    assert not list(options.problems(accepting, {"DEFAULT": {name: value}}))


def test_section_of_others_is_accepted_unless_it_is_almost_a_known_one() -> None:
    assert not refused("ceph", anything="goes")
    assert refused("tokn", expiration="5") == [
        ("tokn", "there is no such section, did you mean 'token'?")
    ]


@pytest.mark.parametrize("service", [each.name for each in definitions.services()])
def test_options_of_every_service_and_release_are_known(service: str) -> None:
    for release in releases.versions():
        known = options.of(service, release)
        assert known is not None
        assert known.sections["DEFAULT"]["debug"] == Option(type="boolean")
        assert "auth_url" in known.plugin_options


OWN = releases.image_tag("nova", releases.newest())


def nova(value: str, tag: str = OWN, repository: str = "ghcr.io/c5c3/nova") -> Object:
    configured = {"DEFAULT": {"cpu_allocation_ratio": value}}
    image = {"repository": repository, "tag": tag}
    return {"spec": {"image": image, "extraConfig": configured}}


def decision(new: Object | None, old: Object | None = None) -> Decision:
    validate = optioncheck.validation(lambda obj: optioncheck.of_service("nova", obj))
    kind = GroupVersionKind(group="nova.openstack.c5c3.io", version="v1alpha1", kind="Nova")
    request = AdmissionRequest(uid="1", kind=kind, operation="UPDATE", object=new, old_object=old)

    async def answer() -> Decision:
        return await validate(request)

    return asyncio.run(answer())


def test_bad_value_is_refused_with_its_field() -> None:
    found = decision(nova("banana"))
    assert not found.allowed
    assert found.message == (
        "spec.extraConfig.DEFAULT.cpu_allocation_ratio: 'banana' is not a number"
    )


def test_stored_object_with_a_bad_value_can_be_changed_and_deleted() -> None:
    changed = nova("banana")
    changed["metadata"] = {"finalizers": []}
    assert decision(changed, nova("banana")).allowed
    assert decision(None, nova("banana")).allowed
    assert not decision(nova("cherry"), nova("banana")).allowed


@pytest.mark.parametrize(
    "other",
    [
        {"tag": "mine"},
        {"repository": "registry.example/nova"},
    ],
)
def test_image_of_others_is_left_to_the_job(other: Mapping[str, str]) -> None:
    assert decision(nova("banana", **other)).allowed


def plane(**spec: Any) -> list[str]:
    return list(of_planes.problems({"spec": spec}))


BAD: Object = {"DEFAULT": {"debug": "maybe"}}


def test_option_of_a_service_of_a_control_plane_is_named() -> None:
    (found,) = plane(services={"nova": {"extraConfig": BAD}})
    assert found.startswith("spec.services.nova.extraConfig.DEFAULT.debug: 'maybe' is not one of")


def test_option_for_all_services_is_checked_for_those_that_are_on() -> None:
    off = {"cinder": {"enabled": False}, "glance": {"extraConfig": {"DEFAULT": {"debug": "on"}}}}
    found = plane(services=off, **{"global": {"extraConfig": BAD}})
    assert all(each.startswith("spec.global.extraConfig.DEFAULT.debug: ") for each in found)
    named = {each.rpartition("(")[2].rstrip(")") for each in found}
    everything = {each.name for each in definitions.services()}
    assert named == everything - {"cinder", "glance"}


@pytest.mark.parametrize("image", [{"repository": "registry.example/nova"}, {"tag": "my-branch"}])
def test_option_of_a_service_with_an_image_of_others_is_left_to_the_job(image: Object) -> None:
    assert not plane(services={"nova": {"extraConfig": BAD, "image": image}})


def test_option_of_an_image_of_the_release_that_is_pinned_is_checked() -> None:
    image = {"digest": f"sha256:{'0' * 64}"}
    assert plane(services={"nova": {"extraConfig": BAD, "image": image}})


def test_options_of_a_release_that_the_operator_does_not_know_are_left_to_the_reconciler() -> None:
    assert not plane(openStackRelease="2031.1", services={"nova": {"extraConfig": BAD}})
