"""What objects ask of Ceph."""

import base64
import struct
from datetime import UTC, datetime

import pytest

from cobaltcore.api.foreign.rook import (
    CephBlockPoolSpec,
    CephClientSpec,
    ErasureCoded,
    Quotas,
    Replicated,
)
from cobaltcore.lab.ceph import commands, config, identity, keys, poolspec, userspec
from cobaltcore.lab.ceph.commands import Answer, Report

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def a_pool(**fields: object) -> CephBlockPoolSpec:
    return CephBlockPoolSpec(replicated=Replicated(size=1), **fields)  # type: ignore[arg-type]


def test_a_key_has_the_form_that_ceph_expects() -> None:
    decoded = base64.b64decode(keys.generate(NOW))
    kind, seconds, nanoseconds, length = struct.unpack("<HIIH", decoded[:12])
    assert (kind, seconds, nanoseconds, length) == (1, int(NOW.timestamp()), 0, 16)
    assert len(decoded) == 28
    assert keys.generate(NOW) != keys.generate(NOW)


def test_an_identity_reads_back_and_does_not_show_its_keys() -> None:
    made = identity.new(NOW)
    wanted = identity.secret(made, "rook-ceph")
    assert wanted.once
    assert identity.read(dict(wanted.body)) == made
    assert made.admin not in repr(made)


def test_the_monitor_knows_everyone_and_others_only_themselves() -> None:
    made = identity.new(NOW)
    found = {
        each.key.name: base64.b64decode(each.body["data"]["keyring"]).decode()
        for each in identity.keyrings(made, "rook-ceph")
    }
    assert all(key in found["rook-ceph-mons-keyring"] for key in (made.mon, made.mgr, made.admin))
    assert made.admin not in found["rook-ceph-mgr-a-keyring"] + found["rook-ceph-osd-keyring"]
    assert found["rook-ceph-osd-keyring"] == (
        f"[client.bootstrap-osd]\n\tkey = {made.bootstrap_osd}\n"
        '\tcaps mon = "allow profile bootstrap-osd"\n'
    )


def test_settings_are_written_by_section() -> None:
    assert config.render({"global": {"a": "1", "b": ""}, "mon": {"c": "2"}}) == (
        "[global]\na = 1\nb = \n\n[mon]\nc = 2\n"
    )


@pytest.mark.parametrize(
    ("quotas", "expected"),
    [
        (Quotas(), 0),
        (Quotas(max_bytes=7), 7),
        (Quotas(max_size="10Gi", max_bytes=7), 10 << 30),
        (Quotas(max_size="1.5k"), 1500),
    ],
)
def test_a_quota_is_read_in_bytes(quotas: Quotas, expected: int) -> None:
    assert poolspec.max_bytes(quotas) == expected


def test_a_pool_that_is_as_it_should_be_needs_no_change() -> None:
    found = {"quota_max_bytes": 1 << 30, "quota_max_objects": 0, "options": {"x": 1}}
    spec = a_pool(quotas=Quotas(max_size="1Gi"), parameters={"x": "1"})
    assert poolspec.changes("p", spec, found) == []


def test_what_differs_in_a_pool_is_set() -> None:
    found = {"quota_max_bytes": 5, "quota_max_objects": 0, "options": {}}
    changes = poolspec.changes("p", a_pool(parameters={"compression_mode": "none"}), found)
    assert [each["command"]["prefix"] for each in changes] == [
        "osd pool set-quota",
        "osd pool set",
    ]
    assert changes[0]["command"]["val"] == "0"


def test_what_the_lab_cannot_serve_is_said() -> None:
    coded = CephBlockPoolSpec(erasure_coded=ErasureCoded(data_chunks=2, coding_chunks=1))
    assert "erasure coding" in poolspec.unserved(coded)
    assert "maxSize" in poolspec.unserved(a_pool(quotas=Quotas(max_size="lots")))
    assert poolspec.unserved(a_pool()) == ""
    assert poolspec.reduction(CephBlockPoolSpec(replicated=Replicated(size=3))).startswith(
        "1 of 3"
    )


@pytest.mark.parametrize("name", ["admin", "rgw.a", "osd.0", "bootstrap-osd", "rbd-mirror"])
def test_names_that_ceph_needs_itself_are_refused(name: str) -> None:
    assert "reserved" in userspec.refusal(name, CephClientSpec(caps={"mon": "allow r"}))


def test_a_user_without_rights_is_refused() -> None:
    assert "caps" in userspec.refusal("glance", CephClientSpec(caps={}))
    assert userspec.refusal("administrator", CephClientSpec(caps={"mon": "allow r"})) == ""


def test_a_refusal_names_the_command_and_not_its_content() -> None:
    requests = [
        commands.command("osd pool ls"),
        commands.command("auth import", key="a-secret"),
        commands.command("version"),
    ]
    report = Report(status={}, answers=[Answer(code=0), Answer(code=-13, message="denied")])
    refused = commands.refusal(requests, report)
    assert refused is not None
    assert refused.message == "Ceph refuses 'auth import' (-13): denied"
    with pytest.raises(commands.Refused):
        commands.expect(requests, report)
