"""What every generated CRD has to fulfil."""

import collections
import re
from typing import Any

import msgspec
import pytest

from cobaltcore.api import crd
from cobaltcore.api.base import Url
from cobaltcore.api.keystone import UserName
from cobaltcore.api.ovn import PhysicalNetwork
from tests.support.structural import Node, walk

MANIFESTS = crd.manifests()
# kubectl keeps a copy of what it applied in an annotation, which may hold this much.
ANNOTATION_BYTES = 262_144
# Weights, ratios and parameters that the outside world gives as fractions.
FLOATS = (
    "weight", "weights.*", "multiplier", "coefficient", "activations.*", "overcommit.*",
    "floatvalue", "floatmapvalue.*",
)  # fmt: skip

each_crd = pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda m: m["metadata"]["name"])


def version(manifest: dict[str, Any]) -> dict[str, Any]:
    (only,) = manifest["spec"]["versions"]
    found: dict[str, Any] = only
    return found


def schema(manifest: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = version(manifest)["schema"]["openAPIV3Schema"]
    return found


def nodes(manifest: dict[str, Any]) -> list[Node]:
    return list(walk(schema(manifest)))


def offenders(found: list[Node]) -> list[str]:
    return [node.path for node in found]


@each_crd
def test_lists_say_how_they_merge(manifest: dict[str, Any]) -> None:
    lists = [node for node in nodes(manifest) if node.schema.get("type") == "array"]
    assert offenders([n for n in lists if "x-kubernetes-list-type" not in n.schema]) == []
    for node in lists:
        items = node.schema["items"]
        for key in node.schema.get("x-kubernetes-list-map-keys", []):
            assert key in items["required"] or "default" in items["properties"][key], node.path


@each_crd
def test_every_field_is_described_in_whole_sentences(manifest: dict[str, Any]) -> None:
    fields = [n for n in nodes(manifest) if n.is_property and n.path != "metadata"]
    assert (
        offenders([n for n in fields if not n.schema.get("description", "").endswith(".")]) == []
    )


@each_crd
def test_conditions_come_first_in_the_status_and_are_keyed_by_type(
    manifest: dict[str, Any],
) -> None:
    properties = schema(manifest)["properties"]["status"]["properties"]
    assert next(iter(properties)) == "conditions"
    assert properties["conditions"]["x-kubernetes-list-map-keys"] == ["type"]


@each_crd
def test_status_is_a_subresource_without_defaults(manifest: dict[str, Any]) -> None:
    assert version(manifest)["subresources"]["status"] == {}
    status = list(walk(schema(manifest)["properties"]["status"]))
    assert offenders([n for n in status if "default" in n.schema]) == []


@each_crd
def test_status_has_the_observed_generation(manifest: dict[str, Any]) -> None:
    assert "observedGeneration" in schema(manifest)["properties"]["status"]["properties"]


@each_crd
def test_texts_with_a_pattern_are_bounded(manifest: dict[str, Any]) -> None:
    texts = [
        n for n in nodes(manifest) if n.schema.get("type") == "string" and "pattern" in n.schema
    ]
    assert offenders([n for n in texts if "maxLength" not in n.schema]) == []


@each_crd
def test_lists_and_maps_of_the_spec_are_bounded(manifest: dict[str, Any]) -> None:
    spec = list(walk(schema(manifest)["properties"]["spec"], "spec"))
    lists = [n for n in spec if n.schema.get("type") == "array" and "maxItems" not in n.schema]
    maps = [
        n for n in spec if "additionalProperties" in n.schema and "maxProperties" not in n.schema
    ]
    assert offenders(lists + maps) == []


@each_crd
def test_there_are_no_floats_but_fractions(manifest: dict[str, Any]) -> None:
    floats = [n for n in nodes(manifest) if n.schema.get("type") == "number"]
    assert offenders([n for n in floats if not n.path.lower().endswith(FLOATS)]) == []


@each_crd
def test_rules_have_a_message_and_point_to_a_field_that_exists(manifest: dict[str, Any]) -> None:
    for node in nodes(manifest):
        for rule in node.schema.get("x-kubernetes-validations", []):
            assert rule["message"], node.path
            target = node.schema
            for step in rule.get("fieldPath", "").split(".")[1:]:
                target = target["properties"][step]


@each_crd
def test_patterns_mean_the_same_to_the_api_server_and_to_python(manifest: dict[str, Any]) -> None:
    """Go's classes are ASCII, those of Python are Unicode: U+00A0 is a space to one of them."""
    for node in nodes(manifest):
        pattern = node.schema.get("pattern", "")
        assert not re.search(r"\\[sSwWdDbB]|\[\[:|\\[pP]", pattern), node.path
        assert pattern.isascii(), node.path


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\x0b", "\x1c", " "])
def test_spaces_of_any_kind_are_refused_in_urls_and_names(space: str) -> None:
    for type_, text in ((Url, "http://a{}b/c"), (Url, "http://a/{}"), (UserName, "a{}b")):
        assert msgspec.convert(text.format(""), type_)
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(text.format(space), type_)


@pytest.mark.parametrize("name", ["physnet1", "net-a.b", "net;a", "0", "~+-9"])
def test_physical_network_is_any_printable_ascii_without_separators(name: str) -> None:
    assert msgspec.convert(name, PhysicalNetwork) == name
    for separator in ",: ":
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(f"{name}{separator}x", PhysicalNetwork)


@each_crd
def test_kubectl_lists_it_with_the_others_and_shows_its_age(manifest: dict[str, Any]) -> None:
    assert manifest["spec"]["names"]["categories"] == ["cobalt"]
    names = [column["name"] for column in version(manifest)["additionalPrinterColumns"]]
    assert names[-1] == "Age"
    assert len(names) == len(set(names))


@each_crd
def test_client_side_apply_can_hold_it(manifest: dict[str, Any]) -> None:
    assert len(msgspec.json.encode(manifest)) < ANNOTATION_BYTES


def test_short_names_are_unique() -> None:
    names = collections.Counter(
        name for each in MANIFESTS for name in each["spec"]["names"].get("shortNames", [])
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_control_plane_columns_tell_the_story_in_order() -> None:
    (plane,) = [each for each in MANIFESTS if each["spec"]["names"]["kind"] == "ControlPlane"]
    names = [column["name"] for column in version(plane)["additionalPrinterColumns"]]
    assert names == ["Ready", "Phase", "Progress", "Release", "Message", "Age"]


@each_crd
def test_a_status_has_no_room_for_fields_that_nobody_declared(manifest: dict[str, Any]) -> None:
    status = schema(manifest)["properties"]["status"]
    assert status["properties"]
    assert "x-kubernetes-preserve-unknown-fields" not in status
